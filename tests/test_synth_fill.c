#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/layout.h"
#include "kernels/reference.h"
#include "kernels/rng.h"
#include "kernels/synth.h"
#include "tests/near.h"

static void rng_is_splitmix64(void **state)
{
    struct rng rng = {0};

    (void)state;
    assert_true(rng_next(&rng) == 0xe220a8397b1dcdaf);
    assert_true(rng_next(&rng) == 0x6e789e6aa1b965f4);
    assert_true(rng_next(&rng) == 0x06c45d188009454f);
}

static void seed_means_the_same_queries_everywhere(void **state)
{
    static const uint16_t expected[] = {0x3e28, 0x3edc, 0x3fbc, 0x3f8e, 0x3f9c, 0x3edb};
    uint16_t q[6];

    (void)state;
    synth_fill_q(q, 6, 1);
    assert_memory_equal(q, expected, sizeof q);
}

static void queries_are_normal(void **state)
{
    enum { COUNT = 1 << 18 };
    uint16_t *q = mem_new(COUNT, sizeof *q);
    double sum = 0, squares = 0, fourth = 0;
    int beyond = 0;

    (void)state;
    synth_fill_q(q, COUNT, 9);
    for (int i = 0; i < COUNT; i++) {
        double value = reference_bf16(q[i]);

        sum += value;
        squares += value * value;
        fourth += value * value * value * value;
        beyond += fabs(value) > 2;
    }
    free(q);
    assert_near(sum / COUNT, 0, 0.01);
    assert_near(squares / COUNT, 1, 0.01);
    assert_near(fourth / COUNT, 3, 0.15); /* twelve uniform numbers: 2.9 */
    assert_near((double)beyond / COUNT, 0.0455, 0.003);
}

static void permutation_holds_every_number_once(void **state)
{
    enum { COUNT = 1000 };
    int32_t order[COUNT], seen[COUNT] = {0}, other[COUNT];
    int in_place = 0;

    (void)state;
    synth_permutation(order, COUNT, 1);
    for (int i = 0; i < COUNT; i++) {
        assert_in_range(order[i], 0, COUNT - 1);
        seen[order[i]]++;
        in_place += order[i] == i;
    }
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(seen[i], 1);
    assert_in_range(in_place, 0, 10);
    synth_permutation(other, COUNT, 2);
    assert_memory_not_equal(order, other, sizeof order);
}

static void mixed_lengths_are_mostly_short(void **state)
{
    enum { COUNT = 4000, TOPK = 512 };
    int32_t lengths[COUNT];
    int below_half = 0, ones = 0, zeros = 0, full = 0;

    (void)state;
    synth_mixed_lengths(lengths, COUNT, TOPK, 3);
    for (int i = 0; i < COUNT; i++) {
        assert_in_range(lengths[i], 0, TOPK);
        below_half += lengths[i] < TOPK / 2;
        zeros += lengths[i] == 0;
        ones += lengths[i] == 1;
        full += lengths[i] == TOPK;
    }
    assert_in_range(below_half, COUNT * 80 / 100, COUNT * 95 / 100);
    assert_in_range(zeros, COUNT / 64, COUNT / 16);
    assert_in_range(ones, COUNT / 64, COUNT / 16);
    assert_in_range(full, COUNT / 100, COUNT / 16);
}

/* Four pages of 64 tokens, and the first two of them again. */
static void pages_do_not_depend_on_their_count(void **state)
{
    enum { PAGES = 4, TOKENS = 64, STRIDE = 37440 };
    uint8_t *four = malloc(PAGES * STRIDE), *two = malloc(2 * STRIDE);

    (void)state;
    synth_fill_pages(four, PAGES, TOKENS, STRIDE, 1);
    synth_fill_pages(two, 2, TOKENS, STRIDE, 1);
    assert_memory_equal(four, two, 2 * STRIDE);
    assert_memory_not_equal(four, four + STRIDE, STRIDE);
    synth_fill_pages(two, 2, TOKENS, STRIDE, 2);
    assert_memory_not_equal(four, two, 2 * STRIDE);
    free(four);
    free(two);
}

static void pages_hold_soft_tokens_in_every_slot(void **state)
{
    enum { PAGES = 5, TOKENS = 6, STRIDE = 3600, USED = TOKENS * 584 };
    static uint8_t pool[PAGES * STRIDE + 16];
    struct kernel_cache cache = {.pool = pool, .page_tokens = TOKENS, .page_stride_bytes = STRIDE};
    double squares = 0;

    (void)state;
    memset(pool, 0x33, sizeof pool);
    synth_fill_pages(pool, PAGES, TOKENS, STRIDE, 7);
    for (uint64_t slot = 0; slot < (uint64_t)PAGES * TOKENS; slot++) {
        double token[LAYOUT_DIM];

        reference_token(&cache, slot, token);
        for (int i = 0; i < LAYOUT_DIM; i++) {
            assert_true(fabs(token[i]) < 13);
            squares += token[i] * token[i];
        }
    }
    assert_near(sqrt(squares / (PAGES * TOKENS * LAYOUT_DIM)), 1.1, 0.2);
    for (int page = 0; page < PAGES; page++) {
        const uint8_t *base = pool + page * STRIDE;

        for (int token = 0; token < TOKENS; token++)
            assert_int_equal(base[TOKENS * 576 + token * 8 + 7], 0xff);
        for (int i = USED; i < STRIDE; i++)
            assert_int_equal(base[i], 0xff);
    }
    for (int i = 0; i < 16; i++)
        assert_int_equal(pool[PAGES * STRIDE + i], 0x33);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rng_is_splitmix64),
        cmocka_unit_test(seed_means_the_same_queries_everywhere),
        cmocka_unit_test(queries_are_normal),
        cmocka_unit_test(permutation_holds_every_number_once),
        cmocka_unit_test(mixed_lengths_are_mostly_short),
        cmocka_unit_test(pages_do_not_depend_on_their_count),
        cmocka_unit_test(pages_hold_soft_tokens_in_every_slot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
