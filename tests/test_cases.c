#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "kernels/cases.h"
#include "kernels/layout.h"

static struct check_case *all, *quick;
static size_t all_count, quick_count;

static int make_lists(void **state)
{
    (void)state;
    all = cases_make(false, 1, &all_count);
    quick = cases_make(true, 1, &quick_count);
    return 0;
}

static int free_lists(void **state)
{
    (void)state;
    free(all);
    free(quick);
    return 0;
}

static bool is_group(const struct check_case *one, const char *group)
{
    return strcmp(one->group, group) == 0;
}

static bool has_parts(const struct check_case *one, uint32_t nsplit)
{
    for (size_t i = 0; i < one->nsplit_count; i++)
        if (one->nsplit[i] == nsplit)
            return true;
    return false;
}

static uint32_t tiles(const struct synth_spec *spec)
{
    return (spec->topk + 31) / 32 + (spec->extra_topk + 31) / 32;
}

/* How many of the product's sets have these values. */
static int product_count(enum synth_kind kind, uint32_t batch, uint32_t topk, bool mixed,
                         bool extra, uint32_t page, bool padded)
{
    int count = 0;

    for (size_t i = 0; i < all_count; i++) {
        const struct synth_spec *spec = &all[i].spec;
        bool lengths = spec->length == SYNTH_MIXED && spec->extra_length == SYNTH_MIXED;
        bool none = spec->length == SYNTH_FULL && spec->extra_length == SYNTH_FULL;

        count += is_group(&all[i], "product") && spec->heads == 64 && spec->kind == kind &&
                 spec->batch == batch && spec->topk == topk && (mixed ? lengths : none) &&
                 (spec->extra_topk > 0) == extra && spec->page_tokens == page &&
                 spec->padded == padded;
    }
    return count;
}

static void product_is_whole(void **state)
{
    static const uint32_t batches[] = {1, 4, 16, 32}, topks[] = {33, 128, 512},
                          pages[] = {2, 64, 256};

    (void)state;
    for (int kind = SYNTH_SOFT; kind <= SYNTH_STEEP; kind++)
        for (int b = 0; b < 4; b++)
            for (int t = 0; t < 3; t++)
                for (int p = 0; p < 3; p++)
                    for (int bits = 0; bits < 8; bits++)
                        assert_int_equal(product_count((enum synth_kind)kind, batches[b], topks[t],
                                                       bits & 1, bits & 2, pages[p], bits & 4),
                                         1);
}

static void product_runs_every_number_of_parts(void **state)
{
    static const uint32_t parts[] = {1, 2, 4, 8, 16, 3, 5, 12};

    (void)state;
    for (size_t i = 0; i < all_count; i++)
        for (int k = 0; k < 8 && is_group(&all[i], "product"); k++)
            assert_true(has_parts(&all[i], parts[k]));
}

static bool any(bool (*is)(const struct check_case *one))
{
    for (size_t i = 0; i < all_count; i++)
        if (is(&all[i]))
            return true;
    return false;
}

static void special_shapes_are_there(void **state)
{
    static const uint32_t heads[] = {1, 7, 8, 16, 33, 127, 128}, topks[] = {1, 1152, 2048};
    static const uint32_t parts[] = {32, 64};

    (void)state;
    for (int h = 0; h < 7; h++) {
        bool found = false;

        for (size_t i = 0; i < all_count; i++)
            found |= all[i].spec.heads == heads[h];
        assert_true(found);
    }
    for (int t = 0; t < 3; t++) {
        bool found = false;

        for (size_t i = 0; i < all_count; i++)
            found |= all[i].spec.topk == topks[t];
        assert_true(found);
    }
    for (int k = 0; k < 2; k++) {
        bool fewer = false, more = false;

        for (size_t i = 0; i < all_count; i++) {
            fewer |= has_parts(&all[i], parts[k]) && tiles(&all[i].spec) >= parts[k];
            more |= has_parts(&all[i], parts[k]) && tiles(&all[i].spec) < parts[k];
        }
        assert_true(fewer && more);
    }
}

static bool empty_rows_with_sink(const struct check_case *one)
{
    return is_group(one, "no entries") && one->spec.sink == SYNTH_SINK && one->spec.heads >= 6;
}

static bool empty_rows_without_sink(const struct check_case *one)
{
    return is_group(one, "no entries") && one->spec.sink == SYNTH_NO_SINK;
}

static bool zero_length(const struct check_case *one)
{
    return one->spec.length == SYNTH_FIXED && one->spec.fixed_length == 0;
}

static bool zero_extra_length(const struct check_case *one)
{
    return one->spec.length == SYNTH_FULL && one->spec.extra_topk > 0 &&
           one->spec.extra_length == SYNTH_FIXED && one->spec.extra_fixed_length == 0;
}

static bool length_one_masked(const struct check_case *one)
{
    return one->spec.index == SYNTH_DISTINCT && one->spec.extra_index == SYNTH_ALL_MASKED &&
           one->spec.extra_length == SYNTH_FIXED && one->spec.extra_fixed_length == 1;
}

static bool length_one(const struct check_case *one)
{
    return one->spec.kind != SYNTH_HARD && one->spec.length == SYNTH_FIXED &&
           one->spec.fixed_length == 1;
}

static bool holes(const struct check_case *one)
{
    return one->spec.index == SYNTH_HOLES;
}

static bool first_masked(const struct check_case *one)
{
    return one->spec.index == SYNTH_FIRST_MASKED && one->spec.topk > 64;
}

static bool all_masked(const struct check_case *one)
{
    return one->spec.index == SYNTH_ALL_MASKED && one->spec.length == SYNTH_FULL;
}

static bool repeats(const struct check_case *one)
{
    return one->spec.index == SYNTH_REPEATS;
}

static bool above_topk(const struct check_case *one)
{
    return one->spec.length == SYNTH_FIXED && one->spec.fixed_length > (int32_t)one->spec.topk;
}

static bool below_zero(const struct check_case *one)
{
    return one->spec.length == SYNTH_FIXED && one->spec.fixed_length < 0;
}

static bool two_query_tokens(const struct check_case *one)
{
    return one->spec.tokens_per_sequence == 2;
}

static bool three_query_tokens(const struct check_case *one)
{
    return one->spec.tokens_per_sequence == 3;
}

static bool extra_only(const struct check_case *one)
{
    return one->spec.topk == 0;
}

static bool hard_one_wide(const struct check_case *one)
{
    return one->spec.kind == SYNTH_HARD && one->spec.topk == 1;
}

static bool hard_masked(const struct check_case *one)
{
    return one->spec.kind == SYNTH_HARD && one->spec.topk > 32 && one->spec.length == SYNTH_FULL;
}

static bool hard_garbage(const struct check_case *one)
{
    return one->spec.kind == SYNTH_HARD && one->spec.topk > 1 && one->spec.fixed_length == 1;
}

static void special_lists_are_there(void **state)
{
    (void)state;
    assert_true(any(empty_rows_with_sink));
    assert_true(any(empty_rows_without_sink));
    assert_true(any(zero_length));
    assert_true(any(zero_extra_length));
    assert_true(any(length_one_masked));
    assert_true(any(length_one));
    assert_true(any(holes));
    assert_true(any(first_masked));
    assert_true(any(all_masked));
    assert_true(any(repeats));
    assert_true(any(above_topk));
    assert_true(any(below_zero));
    assert_true(any(two_query_tokens));
    assert_true(any(three_query_tokens));
    assert_true(any(extra_only));
    assert_true(any(hard_one_wide));
    assert_true(any(hard_masked));
    assert_true(any(hard_garbage));
}

/* Shapes that every kernel takes; parts that ascend from 1. */
static void every_case_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < all_count; i++) {
        const struct synth_spec *spec = &all[i].spec;
        uint64_t page = 584ull * spec->page_tokens, extra_page = 584ull * spec->extra_page_tokens;

        assert_in_range(spec->heads, 1, LAYOUT_MAX_HEADS);
        assert_true(spec->batch > 0 && spec->topk + spec->extra_topk > 0);
        assert_true(spec->padded || (page % 16 == 0 && extra_page % 16 == 0));
        assert_int_equal(all[i].exact, spec->kind == SYNTH_HARD);
        assert_int_equal(all[i].nsplit[0], 1);
        for (size_t k = 1; k < all[i].nsplit_count; k++)
            assert_true(all[i].nsplit[k] > all[i].nsplit[k - 1]);
        for (size_t other = 0; other < i; other++)
            assert_true(spec->seed != all[other].spec.seed);
    }
}

/* All but the seed. */
static bool same_shape(const struct synth_spec *a, const struct synth_spec *b)
{
    return a->kind == b->kind && a->heads == b->heads && a->batch == b->batch &&
           a->topk == b->topk && a->extra_topk == b->extra_topk &&
           a->page_tokens == b->page_tokens && a->extra_page_tokens == b->extra_page_tokens &&
           a->padded == b->padded && a->index == b->index && a->extra_index == b->extra_index &&
           a->length == b->length && a->extra_length == b->extra_length &&
           a->fixed_length == b->fixed_length && a->extra_fixed_length == b->extra_fixed_length &&
           a->tokens_per_sequence == b->tokens_per_sequence && a->sink == b->sink;
}

/* In the same order, with the same seeds, a small part of the work, and every group. */
static void quick_is_a_small_subset(void **state)
{
    uint64_t work[2] = {0};
    size_t at = 0;

    (void)state;
    for (size_t i = 0; i < all_count; i++) {
        const struct synth_spec *spec = &all[i].spec;
        uint64_t cost = (uint64_t)spec->batch * spec->heads * (spec->topk + spec->extra_topk);
        bool found = false;

        work[0] += cost;
        if (at < quick_count && quick[at].spec.seed == spec->seed) {
            assert_true(same_shape(&quick[at].spec, spec));
            work[1] += cost;
            at++;
        }
        for (size_t k = 0; k < quick_count; k++)
            found |= is_group(&quick[k], all[i].group);
        assert_true(found);
    }
    assert_int_equal(at, quick_count);
    assert_in_range(work[1], 1, work[0] / 50);
}

static void seed_changes_the_data_and_nothing_else(void **state)
{
    size_t count;
    struct check_case *other = cases_make(true, 2, &count);

    (void)state;
    assert_int_equal(count, quick_count);
    for (size_t i = 0; i < count; i++) {
        assert_true(other[i].spec.seed != quick[i].spec.seed);
        assert_true(same_shape(&other[i].spec, &quick[i].spec));
    }
    free(other);
}

static void mark_codes(const struct kernel_cache *cache, uint32_t row, bool *codes, bool *scales)
{
    for (uint32_t i = 0; i < cache->topk; i++) {
        int32_t index = cache->index[(size_t)row * cache->topk + i];
        const uint8_t *page;
        uint32_t token;

        if (index < 0 || (cache->length && (int64_t)i >= cache->length[row]))
            continue;
        page = cache->pool + (uint32_t)index / cache->page_tokens * cache->page_stride_bytes;
        token = (uint32_t)index % cache->page_tokens;
        for (uint32_t k = 0; k < LAYOUT_NOPE; k++)
            codes[page[token * 576 + k]] = true;
        for (uint32_t k = 0; k < LAYOUT_GROUPS; k++)
            scales[page[cache->page_tokens * 576 + token * 8 + k]] = true;
    }
}

static void quick_hard_cases_hold_every_code_and_scale(void **state)
{
    bool codes[256] = {0}, scales[256] = {0};

    (void)state;
    for (size_t i = 0; i < quick_count; i++) {
        struct synth synth;

        if (!quick[i].exact)
            continue;
        assert_int_equal(synth_make(&synth, &quick[i].spec), FAIL_OK);
        for (uint32_t row = 0; row < quick[i].spec.batch; row++) {
            mark_codes(&synth.args.main, row, codes, scales);
            mark_codes(&synth.args.extra, row, codes, scales);
        }
        synth_free(&synth);
    }
    for (int byte = 0; byte < 256; byte++) {
        assert_int_equal(codes[byte], (byte & 0x7f) != 0x7f);
        assert_int_equal(scales[byte], byte >= 92 && byte <= 150);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(product_is_whole),
        cmocka_unit_test(product_runs_every_number_of_parts),
        cmocka_unit_test(special_shapes_are_there),
        cmocka_unit_test(special_lists_are_there),
        cmocka_unit_test(every_case_is_sound),
        cmocka_unit_test(quick_is_a_small_subset),
        cmocka_unit_test(seed_changes_the_data_and_nothing_else),
        cmocka_unit_test(quick_hard_cases_hold_every_code_and_scale),
    };

    return cmocka_run_group_tests(tests, make_lists, free_lists);
}
