#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "kernels/synth.h"
#include "tests/near.h"
#include "tests/synth_made.h"

static void distinct_slots_repeat_over_no_rows(void **state)
{
    struct synth synth = make(plain);
    uint64_t count = slots(&synth.args.main, synth.pool_bytes);
    uint32_t *counts = references(&synth.args.main, 6, count), referenced = 0;

    (void)state;
    for (uint64_t slot = 0; slot < count; slot++) {
        assert_in_range(counts[slot], 0, 1);
        referenced += counts[slot];
    }
    assert_int_equal(referenced, 600);
    assert_null(synth.args.main.length);
    free(counts);
    synth_free(&synth);
}

static void holes_are_a_third_and_of_several_values(void **state)
{
    struct synth_spec spec = plain;
    struct synth synth;
    int minus_one = 0, lowest = 0, other = 0;

    (void)state;
    spec.index = SYNTH_HOLES;
    synth = make(spec);
    for (uint32_t r = 0; r < 6; r++)
        for (uint32_t i = 0; i < 100; i++) {
            int32_t index = entry(&synth.args.main, r, i);

            minus_one += index == -1;
            lowest += index == INT32_MIN;
            other += index < -1 && index > INT32_MIN;
        }
    assert_in_range(minus_one + lowest + other, 150, 250);
    assert_true(minus_one > 50 && lowest > 10 && other > 10);
    synth_free(&synth);
}

static void repeats_repeat_a_quarter_of_the_slots(void **state)
{
    struct synth_spec spec = plain;
    struct synth synth;
    uint32_t *counts, most = 0, referenced = 0;
    uint64_t count;

    (void)state;
    spec.index = SYNTH_REPEATS;
    synth = make(spec);
    count = slots(&synth.args.main, synth.pool_bytes);
    counts = references(&synth.args.main, 6, count);
    for (uint64_t slot = 0; slot < count; slot++) {
        most = counts[slot] > most ? counts[slot] : most;
        referenced += counts[slot] > 0;
    }
    assert_in_range(most, 5, 30);
    assert_in_range(referenced, 6 * 20, 6 * 27);
    free(counts);
    synth_free(&synth);
}

static void first_64_masked_then_slots(void **state)
{
    struct synth_spec spec = plain;
    struct synth synth;

    (void)state;
    spec.index = SYNTH_FIRST_MASKED;
    synth = make(spec);
    for (uint32_t r = 0; r < 6; r++)
        for (uint32_t i = 0; i < 100; i++)
            if (i < 64)
                assert_int_equal(entry(&synth.args.main, r, i), -1);
            else
                assert_true(entry(&synth.args.main, r, i) >= 0);
    synth_free(&synth);
}

/* Fixed to 40 in the main list, masked throughout with length 1 in the extra one. */
static void garbage_follows_a_length(void **state)
{
    struct synth_spec spec = plain;
    struct synth synth;
    int beyond = 0, inside = 0;
    int32_t slot;

    (void)state;
    spec.length = spec.extra_length = SYNTH_FIXED;
    spec.fixed_length = 40;
    spec.extra_fixed_length = 1;
    spec.extra_topk = 30;
    spec.extra_index = SYNTH_ALL_MASKED;
    synth = make(spec);
    for (uint32_t r = 0; r < 6; r++) {
        assert_int_equal(synth.args.main.length[r], 40);
        assert_int_equal(valid_entries(&synth.args.main, r, &slot), 40);
        assert_int_equal(synth.args.extra.length[r], 1);
        assert_true(entry(&synth.args.extra, r, 0) < 0);
        for (uint32_t i = 40; i < 100; i++) {
            int32_t index = entry(&synth.args.main, r, i);

            beyond += index == INT32_MAX;
            inside += index >= 0 && (uint64_t)index < slots(&synth.args.main, synth.pool_bytes);
        }
    }
    assert_true(beyond > 20);
    assert_true(inside > 100);
    synth_free(&synth);
}

static void fixed_lengths_are_stored_as_given(void **state)
{
    static const int32_t given[] = {INT32_MIN, -5, 0, 1, 101, INT32_MAX};
    struct synth_spec spec = plain;

    (void)state;
    spec.length = SYNTH_FIXED;
    for (int i = 0; i < 6; i++) {
        struct synth synth;

        spec.fixed_length = given[i];
        synth = make(spec);
        for (uint32_t r = 0; r < 6; r++)
            assert_int_equal(synth.args.main.length[r], given[i]);
        synth_free(&synth);
    }
}

static void mixed_lengths_hold_0_1_and_topk(void **state)
{
    struct synth_spec spec = plain;

    (void)state;
    spec.length = SYNTH_MIXED;
    for (spec.seed = 0; spec.seed < 20; spec.seed++) {
        int zeros = 0, ones = 0, full = 0;
        struct synth synth;

        spec.batch = 3 + (uint32_t)spec.seed;
        synth = make(spec);
        for (uint32_t r = 0; r < spec.batch; r++) {
            zeros += synth.args.main.length[r] == 0;
            ones += synth.args.main.length[r] == 1;
            full += synth.args.main.length[r] == 100;
        }
        assert_true(zeros > 0 && ones > 0 && full > 0);
        synth_free(&synth);
    }
}

static void query_tokens_share_their_length(void **state)
{
    struct synth_spec spec = plain;
    struct synth synth;

    (void)state;
    spec.batch = 12;
    spec.length = SYNTH_MIXED;
    spec.tokens_per_sequence = 3;
    synth = make(spec);
    for (uint32_t r = 0; r < 12; r++)
        assert_int_equal(synth.args.main.length[r], synth.args.main.length[r / 3 * 3]);
    assert_int_not_equal(entry(&synth.args.main, 0, 0), entry(&synth.args.main, 1, 0));
    synth_free(&synth);
}

/* ln 100 = 4.6, rounded down to ln 64 */
static void sinks_are_finite_or_infinite_by_head(void **state)
{
    struct synth_spec spec = plain;
    struct synth synth;

    (void)state;
    spec.heads = 16;
    spec.sink = SYNTH_SINK;
    synth = make(spec);
    for (uint32_t h = 0; h < 16; h++)
        if (h % 8 == 3)
            assert_true(synth.args.sink[h] == INFINITY);
        else if (h % 8 == 5)
            assert_true(synth.args.sink[h] == -INFINITY);
        else
            assert_near((double)synth.args.sink[h], log(64), 4);
    synth_free(&synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distinct_slots_repeat_over_no_rows),
        cmocka_unit_test(holes_are_a_third_and_of_several_values),
        cmocka_unit_test(repeats_repeat_a_quarter_of_the_slots),
        cmocka_unit_test(first_64_masked_then_slots),
        cmocka_unit_test(garbage_follows_a_length),
        cmocka_unit_test(fixed_lengths_are_stored_as_given),
        cmocka_unit_test(mixed_lengths_hold_0_1_and_topk),
        cmocka_unit_test(query_tokens_share_their_length),
        cmocka_unit_test(sinks_are_finite_or_infinite_by_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
