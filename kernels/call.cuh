/*
 * call: one call's arguments as a kernel gets them, and where a list's entries stand in a pool.
 */
#ifndef KERNELS_CALL_CUH
#define KERNELS_CALL_CUH

#include "data/plan.h"
#include "kernels/kernel.h"
#include "kernels/layout.h"
#include "kernels/prim.cuh"

struct call_list {
    const uint8_t *pool;
    const int32_t *index;
    const int32_t *length;
    uint64_t stride_bytes;
    uint32_t topk;
    uint32_t page_tokens;
    uint32_t page_multiplier, page_shift; /* slot / page_tokens = slot * multiplier >> shift */
};

struct call {
    const uint16_t *q;
    const float *sink;
    uint16_t *out;
    float *lse;
    float scale_log2; /* softmax scale x log2(e): scores are kept in powers of two */
    uint32_t heads, nsplit;
    uint64_t row_heads; /* batch x heads */
    struct call_list main, extra;
    /* Of each part of a row and head, [batch][heads][nsplit]: 512 sums, the maximum they refer to
     * (log2), the sum of the weights.  Sum 0: the part had no entry and its 512 sums were not
     * written. */
    float *part_acc, *part_max, *part_sum;
};

static const float CALL_LN2 = 0.693147180559945f;
static const float CALL_LOG2E = 1.442695040888963f;

/* Division by multiplication (Granlund and Montgomery 1994), exact for slots below 2^31. */
static inline void call_set_division(struct call_list *list)
{
    uint32_t bits = 0;

    while (((uint64_t)1 << bits) < list->page_tokens)
        bits++;
    list->page_shift = 31 + bits;
    list->page_multiplier = (uint32_t)(((uint64_t)1 << list->page_shift) / list->page_tokens + 1);
}

static inline struct call_list call_list_of(const struct kernel_cache *cache)
{
    struct call_list list = {};

    if (cache->topk == 0)
        return list;
    list.pool = cache->pool;
    list.index = cache->index;
    list.length = cache->length;
    list.stride_bytes = cache->page_stride_bytes;
    list.topk = cache->topk;
    list.page_tokens = cache->page_tokens;
    call_set_division(&list);
    return list;
}

static inline struct call call_of(const struct plan *plan, const struct kernel_args *args)
{
    uint64_t row_heads = (uint64_t)args->batch * args->heads, parts = row_heads * plan->nsplit;
    struct call call = {};

    call.q = args->q;
    call.sink = args->sink;
    call.out = args->out;
    call.lse = args->lse;
    call.scale_log2 = args->scale * CALL_LOG2E;
    call.heads = args->heads;
    call.row_heads = row_heads;
    call.nsplit = plan->nsplit;
    call.main = call_list_of(&args->main);
    call.extra = call_list_of(&args->extra);
    if (plan->nsplit > 1) {
        call.part_acc = (float *)args->scratch;
        call.part_max = call.part_acc + parts * LAYOUT_DIM;
        call.part_sum = call.part_max + parts;
    }
    return call;
}

PRIM_DEVICE uint32_t call_length(const struct call_list &list, uint32_t row)
{
    int32_t length;

    if (list.topk == 0 || list.length == nullptr)
        return list.topk;
    length = list.length[row];
    if (length < 0)
        return 0;
    return (uint32_t)length < list.topk ? (uint32_t)length : list.topk;
}

struct call_place {
    const uint8_t *row;    /* 576 bytes */
    const uint8_t *scales; /* 8 bytes */
};

/* A negative slot gets the pool's first bytes: legal to touch, not to use. */
PRIM_DEVICE struct call_place call_find(const struct call_list &list, int32_t slot)
{
    uint32_t known = slot < 0 ? 0 : (uint32_t)slot;
    uint32_t page = (uint32_t)(((uint64_t)known * list.page_multiplier) >> list.page_shift);
    uint32_t token = known - page * list.page_tokens;
    const uint8_t *first = list.pool + page * list.stride_bytes;

    return {first + (uint64_t)token * LAYOUT_ROW_BYTES,
            first + (uint64_t)list.page_tokens * LAYOUT_ROW_BYTES +
                (uint64_t)token * LAYOUT_SCALE_BYTES};
}

/* What the sink leaves of an output: 1 / (1 + exp(sink - lse)), lse in powers of two. */
PRIM_DEVICE float call_sink_factor(const struct call &call, uint32_t head, float lse_log2)
{
    if (call.sink == nullptr)
        return 1.0f;
    return 1.0f / (1.0f + prim_exp2(prim_multiply(call.sink[head], CALL_LOG2E) - lse_log2));
}

#endif
