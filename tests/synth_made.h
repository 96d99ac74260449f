/*
 * synth_made: a made data set and questions about its lists.  Include it after cmocka.h.
 */
#ifndef TESTS_SYNTH_MADE_H
#define TESTS_SYNTH_MADE_H

#include "base/fail.h"
#include "base/mem.h"
#include "kernels/synth.h"

static const struct synth_spec plain = {
    .seed = 42,
    .heads = 8,
    .batch = 6,
    .topk = 100,
    .page_tokens = 64,
    .extra_page_tokens = 2,
    .padded = true,
};

static inline struct synth make(struct synth_spec spec)
{
    struct synth synth;

    assert_int_equal(synth_make(&synth, &spec), FAIL_OK);
    return synth;
}

/* How many entries of a row its length lets count. */
static inline uint32_t width(const struct kernel_cache *cache, uint32_t row)
{
    int64_t length = cache->length ? cache->length[row] : (int64_t)cache->topk;

    return length < 0 ? 0 : length < cache->topk ? (uint32_t)length : cache->topk;
}

static inline int32_t entry(const struct kernel_cache *cache, uint32_t row, uint32_t i)
{
    return cache->index[(size_t)row * cache->topk + i];
}

static inline uint64_t slots(const struct kernel_cache *cache, uint64_t pool_bytes)
{
    return pool_bytes / cache->page_stride_bytes * cache->page_tokens;
}

/* How often each slot is referenced; free() it. */
static inline uint32_t *references(const struct kernel_cache *cache, uint32_t batch,
                                   uint64_t slot_count)
{
    uint32_t *counts = mem_new(slot_count, sizeof *counts);

    for (uint32_t row = 0; row < batch; row++)
        for (uint32_t i = 0; i < width(cache, row); i++)
            if (entry(cache, row, i) >= 0) {
                assert_true((uint64_t)entry(cache, row, i) < slot_count);
                counts[entry(cache, row, i)]++;
            }
    return counts;
}

/* *slot: the last one. */
static inline uint32_t valid_entries(const struct kernel_cache *cache, uint32_t r, int32_t *slot)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < width(cache, r); i++)
        if (entry(cache, r, i) >= 0) {
            *slot = entry(cache, r, i);
            count++;
        }
    return count;
}

#endif
