#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/mem.h"
#include "kernels/layout.h"
#include "kernels/reference.h"
#include "kernels/synth.h"
#include "tests/near.h"
#include "tests/synth_made.h"

/* So that the address sanitizer answers a huge allocation as malloc does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

/* What holds for every data set, whatever its kind and lists. */

static void assert_slot_written(const struct kernel_cache *cache, uint64_t slot)
{
    double token[LAYOUT_DIM];

    reference_token(cache, slot, token);
    for (int i = 0; i < LAYOUT_DIM; i++)
        assert_true(isfinite(token[i]));
}

static void assert_all_ff(const uint8_t *bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(bytes[i], 0xff);
}

static void assert_slot_untouched(const struct kernel_cache *cache, uint64_t slot)
{
    const uint8_t *page = cache->pool + slot / cache->page_tokens * cache->page_stride_bytes;
    uint64_t token = slot % cache->page_tokens;

    assert_all_ff(page + token * 576, 576);
    assert_all_ff(page + cache->page_tokens * 576ull + token * 8, 8);
}

static void assert_cache_sound(const struct kernel_cache *cache, uint32_t batch,
                               uint64_t pool_bytes)
{
    uint64_t count = slots(cache, pool_bytes), used = cache->page_tokens * 584ull;
    uint32_t *counts = references(cache, batch, count);
    uint64_t referenced = 0;

    assert_int_equal((uintptr_t)cache->pool % LAYOUT_ALIGN_BYTES, 0);
    for (uint64_t slot = 0; slot < count; slot++) {
        const uint8_t *page = cache->pool + slot / cache->page_tokens * cache->page_stride_bytes;

        if (counts[slot] > 0)
            assert_slot_written(cache, slot);
        else
            assert_slot_untouched(cache, slot);
        referenced += counts[slot] > 0;
        assert_int_equal(page[cache->page_tokens * 576ull + slot % cache->page_tokens * 8 + 7],
                         0xff);
    }
    for (uint64_t at = 0; at < pool_bytes; at += cache->page_stride_bytes)
        assert_all_ff(cache->pool + at + used, cache->page_stride_bytes - used);
    assert_true(referenced < count);
    if (referenced > 0)
        assert_true(counts[count - 1] > 0); /* the last slot of the last page */
    free(counts);
}

static void assert_sound(const struct synth_spec *spec)
{
    struct synth synth = make(*spec);

    assert_int_equal((uintptr_t)synth.args.q % 16, 0);
    assert_null(synth.args.out);
    assert_null(synth.args.lse);
    assert_near((double)synth.args.scale, 1 / sqrt(512), 1e-9);
    if (spec->topk > 0)
        assert_cache_sound(&synth.args.main, spec->batch, synth.pool_bytes);
    else
        assert_null(synth.args.main.pool);
    if (spec->extra_topk > 0)
        assert_cache_sound(&synth.args.extra, spec->batch, synth.extra_pool_bytes);
    else
        assert_null(synth.args.extra.pool);
    for (uint64_t i = 0; i < (uint64_t)spec->batch * spec->heads * LAYOUT_DIM; i++)
        assert_true(fabs(reference_bf16(synth.args.q[i])) <= 6);
    synth_free(&synth);
}

static void every_data_set_is_sound(void **state)
{
    (void)state;
    for (int kind = SYNTH_SOFT; kind <= SYNTH_HARD; kind++)
        for (int index = SYNTH_DISTINCT; index <= SYNTH_ALL_MASKED; index++)
            for (int lengths = SYNTH_FULL; lengths <= SYNTH_FIXED; lengths++) {
                struct synth_spec spec = plain;

                spec.kind = (enum synth_kind)kind;
                spec.index = (enum synth_index)index;
                spec.length = (enum synth_length)lengths;
                spec.fixed_length = 40;
                assert_sound(&spec);
                spec.extra_topk = 30;
                spec.extra_length = spec.length;
                spec.extra_index = SYNTH_HOLES;
                spec.padded = false;
                assert_sound(&spec);
                spec.topk = 0;
                assert_sound(&spec);
            }
}

static void shape_and_strides_are_those_asked_for(void **state)
{
    struct synth_spec spec = plain;
    struct synth synth;

    (void)state;
    spec.extra_topk = 30;
    synth = make(spec);
    assert_int_equal(synth.args.main.page_stride_bytes, 37440);
    assert_int_equal(synth.args.extra.page_stride_bytes, 1728);
    assert_int_equal(synth.shape.page_stride_bytes, 37440);
    assert_int_equal(synth.shape.extra_page_stride_bytes, 1728);
    assert_int_equal(synth.shape.heads, 8);
    assert_int_equal(synth.shape.batch, 6);
    assert_int_equal(synth.shape.topk, 100);
    assert_int_equal(synth.shape.extra_topk, 30);
    assert_int_equal(synth.shape.page_tokens, 64);
    assert_int_equal(synth.shape.extra_page_tokens, 2);
    assert_false(synth.shape.has_sink);
    assert_int_equal(synth.shape.nsplit, 0);
    synth_free(&synth);
    spec.padded = false;
    spec.sink = SYNTH_SINK;
    synth = make(spec);
    assert_int_equal(synth.args.main.page_stride_bytes, 37376);
    assert_int_equal(synth.args.extra.page_stride_bytes, 1168);
    assert_true(synth.shape.has_sink);
    synth_free(&synth);
}

static void seed_decides_everything(void **state)
{
    struct synth_spec spec = plain;
    struct synth one = make(spec), same = make(spec), other;
    size_t index_bytes = 6 * 100 * sizeof(int32_t), q_bytes = 6 * 8 * LAYOUT_DIM * 2;

    (void)state;
    spec.seed++;
    other = make(spec);
    assert_memory_equal(one.args.main.pool, same.args.main.pool, one.pool_bytes);
    assert_memory_equal(one.args.main.index, same.args.main.index, index_bytes);
    assert_memory_equal(one.args.q, same.args.q, q_bytes);
    assert_memory_not_equal(one.args.main.pool, other.args.main.pool, one.pool_bytes);
    assert_memory_not_equal(one.args.main.index, other.args.main.index, index_bytes);
    assert_memory_not_equal(one.args.q, other.args.q, q_bytes);
    synth_free(&one);
    synth_free(&same);
    synth_free(&other);
}

static void too_much_memory_is_an_environment_error(void **state)
{
    struct synth_spec spec = plain;
    struct synth synth;

    (void)state;
    spec.batch = 1000000;
    spec.topk = 1000000000;
    assert_int_equal(synth_make(&synth, &spec), FAIL_ENV);
    assert_non_null(strstr(fail_text(), "memory"));
}

/* Kinds. */

/* rms of all referenced K, and of all scores; *extreme: lowest and highest score. */
static void measure(const struct synth *synth, double *key_rms, double *score_rms, double *extreme)
{
    const struct kernel_cache *cache = &synth->args.main;
    double keys = 0, scores = 0, token[LAYOUT_DIM];
    size_t tokens = 0, heads = synth->args.heads;

    extreme[0] = extreme[1] = 0;
    for (uint32_t r = 0; r < synth->args.batch; r++)
        for (uint32_t i = 0; i < cache->topk; i++, tokens++) {
            reference_token(cache, (uint64_t)entry(cache, r, i), token);
            for (int d = 0; d < LAYOUT_DIM; d++)
                keys += token[d] * token[d];
            for (size_t h = 0; h < heads; h++) {
                double score = 0;

                for (size_t d = 0; d < LAYOUT_DIM; d++)
                    score +=
                        token[d] * reference_bf16(synth->args.q[(r * heads + h) * LAYOUT_DIM + d]);
                score *= (double)synth->args.scale;
                scores += score * score;
                extreme[0] = fmin(extreme[0], score);
                extreme[1] = fmax(extreme[1], score);
            }
        }
    *key_rms = sqrt(keys / (double)(tokens * LAYOUT_DIM));
    *score_rms = sqrt(scores / (double)(tokens * heads));
}

/* sqrt((1/16 + 1/4 + 1 + 4) / 4) = 1.15 */
static void soft_keys_are_about_one(void **state)
{
    struct synth synth = make(plain);
    double key_rms, score_rms, extreme[2];

    (void)state;
    measure(&synth, &key_rms, &score_rms, extreme);
    assert_near(key_rms, 1.15, 0.05);
    assert_near(score_rms, 1.15, 0.1);
    synth_free(&synth);
}

static void soft_groups_have_four_sizes(void **state)
{
    struct synth synth = make(plain);
    double token[LAYOUT_DIM];
    int sizes[4] = {0};

    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        reference_token(&synth.args.main, (uint64_t)entry(&synth.args.main, 0, i), token);
        for (int group = 0; group < LAYOUT_DIM / 64; group++) {
            double sum = 0;
            int u;

            for (int d = 0; d < 64; d++)
                sum += pow(token[group * 64 + d], 2);
            u = (int)round(log2(sqrt(sum / 64)));
            assert_in_range(u + 2, 0, 3);
            sizes[u + 2]++;
        }
    }
    for (int u = 0; u < 4; u++)
        assert_in_range(sizes[u], 150, 250);
    synth_free(&synth);
}

static void peaked_scores_spread_by_five(void **state)
{
    struct synth_spec spec = plain;
    struct synth synth;
    double key_rms, score_rms, extreme[2];

    (void)state;
    spec.kind = SYNTH_PEAKED;
    synth = make(spec);
    measure(&synth, &key_rms, &score_rms, extreme);
    assert_near(key_rms, 5, 0.1);
    assert_near(score_rms, 5, 0.4);
    synth_free(&synth);
}

static void steep_scores_exceed_200_both_ways(void **state)
{
    struct synth_spec spec = plain;
    struct synth synth;
    double key_rms, score_rms, extreme[2];

    (void)state;
    spec.kind = SYNTH_STEEP;
    synth = make(spec);
    measure(&synth, &key_rms, &score_rms, extreme);
    assert_true(extreme[0] < -200 && extreme[0] > -270);
    assert_true(extreme[1] > 200 && extreme[1] < 270);
    synth_free(&synth);
}

/* The first quarter of row 0 scores lower than the last in heads of one side, in row 1 the other
 * way. */
static void steep_scores_move_along_the_list(void **state)
{
    struct synth_spec spec = plain;
    struct synth synth;

    (void)state;
    spec.kind = SYNTH_STEEP;
    synth = make(spec);
    for (uint32_t r = 0; r < 2; r++)
        for (uint32_t h = 0; h < 2; h++) {
            const uint16_t *q = synth.args.q + (size_t)(r * 8 + h) * LAYOUT_DIM;
            double scores[4] = {0}, token[LAYOUT_DIM];
            int up;

            for (uint32_t quarter = 0; quarter < 4; quarter++) {
                int32_t slot = entry(&synth.args.main, r, 25 * quarter + 12);

                reference_token(&synth.args.main, (uint64_t)slot, token);
                for (int d = 0; d < LAYOUT_DIM; d++)
                    scores[quarter] += token[d] * reference_bf16(q[d]) / sqrt(512);
            }
            up = (r + h) % 2 == 0 ? 1 : -1;
            for (int quarter = 0; quarter < 3; quarter++)
                assert_near(up * (scores[quarter + 1] - scores[quarter]), 36, 10);
        }
    synth_free(&synth);
}

/* In rows of few entries the best score is no smaller than its terms added at random. */
static void few_entries_have_no_near_cancellation(void **state)
{
    struct synth_spec spec = plain;
    struct synth synth;

    (void)state;
    spec.kind = SYNTH_PEAKED;
    spec.topk = 1;
    synth = make(spec);
    for (uint32_t r = 0; r < 6; r++)
        for (uint32_t h = 0; h < 8; h++) {
            const uint16_t *q = synth.args.q + (size_t)(r * 8 + h) * LAYOUT_DIM;
            double sum = 0, squares = 0, token[LAYOUT_DIM];

            reference_token(&synth.args.main, (uint64_t)entry(&synth.args.main, r, 0), token);
            for (int d = 0; d < LAYOUT_DIM; d++) {
                sum += token[d] * reference_bf16(q[d]);
                squares += pow(token[d] * reference_bf16(q[d]), 2);
            }
            assert_true(fabs(sum) >= sqrt(squares));
        }
    synth_free(&synth);
}

/* 36 rows, entries in both lists: each code with each scale byte, subnormals, finite values only.
 */
static void hard_rows_hold_every_code_and_scale(void **state)
{
    static bool seen[256][256];
    struct synth_spec spec = plain;
    struct synth synth;
    int subnormals = 0, in_list[2] = {0};

    (void)state;
    spec.kind = SYNTH_HARD;
    spec.batch = 36;
    spec.extra_topk = 60;
    synth = make(spec);
    for (uint32_t r = 0; r < spec.batch; r++) {
        int32_t slot[2] = {0};
        uint32_t of_main = valid_entries(&synth.args.main, r, &slot[0]);
        uint32_t of_extra = valid_entries(&synth.args.extra, r, &slot[1]);
        const struct kernel_cache *cache = of_main ? &synth.args.main : &synth.args.extra;
        uint32_t at = (uint32_t)slot[of_main ? 0 : 1];
        const uint8_t *page = cache->pool + at / cache->page_tokens * cache->page_stride_bytes;
        const uint8_t *token = page + at % cache->page_tokens * 576;
        const uint8_t *bytes = page + cache->page_tokens * 576 + at % cache->page_tokens * 8;

        assert_int_equal(of_main + of_extra, 1);
        in_list[of_main ? 0 : 1]++;
        for (int i = 0; i < LAYOUT_NOPE; i++)
            seen[token[i]][bytes[i / 64]] = true;
        for (int i = 0; i < LAYOUT_ROPE; i++) {
            int bits = token[448 + 2 * i] | token[448 + 2 * i + 1] << 8;

            subnormals += (bits & 0x7f80) == 0 && (bits & 0x7f) != 0;
            assert_true((bits >> 7 & 255) < 148);
        }
    }
    for (int code = 0; code < 256; code++)
        for (int scale = 0; scale < 256; scale++)
            assert_int_equal(seen[code][scale],
                             (code & 0x7f) != 0x7f && scale >= 92 && scale <= 150);
    assert_true(subnormals >= 36 * 6);
    assert_true(in_list[0] > 0 && in_list[1] > 0);
    synth_free(&synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_data_set_is_sound),
        cmocka_unit_test(shape_and_strides_are_those_asked_for),
        cmocka_unit_test(seed_decides_everything),
        cmocka_unit_test(too_much_memory_is_an_environment_error),
        cmocka_unit_test(soft_keys_are_about_one),
        cmocka_unit_test(soft_groups_have_four_sizes),
        cmocka_unit_test(peaked_scores_spread_by_five),
        cmocka_unit_test(steep_scores_exceed_200_both_ways),
        cmocka_unit_test(steep_scores_move_along_the_list),
        cmocka_unit_test(few_entries_have_no_near_cancellation),
        cmocka_unit_test(hard_rows_hold_every_code_and_scale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
