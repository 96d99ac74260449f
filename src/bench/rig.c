#include "bench/rig.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/mem.h"
#include "bench/shape.h"
#include "gpu/graph.h"
#include "kernels/layout.h"
#include "kernels/synth.h"

static const uint32_t rig_slots = 4u << 20;
static const uint64_t rig_flush_least_bytes = 256u << 20;
/* Distinct q values that are repeated over all rows of all steps. */
static const uint64_t rig_q_values = 16u << 20;

int rig_open(struct rig *rig, int ordinal, uint64_t seed)
{
    uint64_t flush_bytes;
    int code;

    *rig = (struct rig){.seed = seed};
    code = device_open(&rig->device, ordinal);
    if (code != FAIL_OK)
        return code;
    code = graph_stream_new(&rig->stream);
    if (code != FAIL_OK)
        return code;
    flush_bytes = 4 * rig->device.l2_bytes;
    if (flush_bytes < rig_flush_least_bytes)
        flush_bytes = rig_flush_least_bytes;
    code = buffer_reserve(&rig->flush, flush_bytes);
    if (code == FAIL_OK)
        code = buffer_fill(&rig->flush, 0, 0x5a, flush_bytes);
    return code;
}

static void close_cache(struct rig_cache *cache)
{
    buffer_free(&cache->pool);
    buffer_free(&cache->index);
    buffer_free(&cache->length);
    free(cache->host_pool);
    free(cache->host_index);
    free(cache->host_length);
    *cache = (struct rig_cache){0};
}

void rig_close(struct rig *rig)
{
    struct buffer *buffers[] = {&rig->q,       &rig->out,  &rig->lse,
                                &rig->scratch, &rig->sink, &rig->flush};

    close_cache(&rig->main);
    close_cache(&rig->extra);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        buffer_free(buffers[i]);
    free(rig->host_q);
    free(rig->host_sink);
    graph_stream_free(rig->stream);
    device_close(&rig->device);
    *rig = (struct rig){0};
}

/* Slots are drawn once for each size of pool; the permutation stands on host and device. */
static int fill_index(struct rig_cache *cache, uint32_t slots, uint64_t seed)
{
    int code;

    if (cache->slots == slots && cache->host_index)
        return FAIL_OK;
    code = buffer_reserve(&cache->index, (uint64_t)slots * sizeof *cache->host_index);
    if (code != FAIL_OK)
        return code;
    cache->host_index = mem_resize(cache->host_index, slots, sizeof *cache->host_index);
    synth_permutation(cache->host_index, slots, seed);
    return buffer_upload(&cache->index, 0, cache->host_index,
                         (uint64_t)slots * sizeof *cache->host_index);
}

/* Lays the pool out for a page size and stride; kept while the next point asks for the same. */
static int fill_pool(struct rig_cache *cache, uint32_t page_tokens, uint64_t stride_bytes,
                     uint32_t slots, uint64_t seed)
{
    uint32_t period_pages = page_tokens < RIG_PERIOD_TOKENS ? RIG_PERIOD_TOKENS / page_tokens : 1;
    uint64_t period_bytes = period_pages * stride_bytes;
    uint32_t pages = slots / page_tokens;
    int code;

    if (cache->page_tokens == page_tokens && cache->stride_bytes == stride_bytes &&
        cache->slots == slots)
        return FAIL_OK;
    cache->page_tokens = 0; /* nothing valid until the end */
    code = fill_index(cache, slots, seed + 2);
    if (code != FAIL_OK)
        return code;
    code = buffer_reserve(&cache->pool, pages * stride_bytes);
    if (code != FAIL_OK)
        return code;
    cache->host_pool = mem_resize(cache->host_pool, period_bytes, 1);
    synth_fill_pages(cache->host_pool, period_pages, page_tokens, stride_bytes, seed);
    code = buffer_upload(&cache->pool, 0, cache->host_pool, period_bytes);
    if (code == FAIL_OK)
        code = buffer_repeat(&cache->pool, period_bytes, pages * stride_bytes);
    if (code != FAIL_OK)
        return code;
    cache->page_tokens = page_tokens;
    cache->stride_bytes = stride_bytes;
    cache->slots = slots;
    cache->period_slots = period_pages * page_tokens;
    return FAIL_OK;
}

/* Whole periods of whole pages, enough for `needed` slots: the usual size, or fewer when that takes
 * over a third of the memory. */
static int choose_slots(const struct rig *rig, uint32_t page_tokens, uint64_t stride_bytes,
                        uint64_t needed, uint32_t *slots)
{
    uint64_t period = page_tokens < RIG_PERIOD_TOKENS
                          ? RIG_PERIOD_TOKENS / page_tokens * page_tokens
                          : page_tokens;
    uint64_t bytes_of_period = period / page_tokens * stride_bytes;
    uint64_t most = rig->device.memory_free_bytes / 3 / bytes_of_period;
    uint64_t count = (rig_slots + period - 1) / period;
    uint64_t least = (needed + period - 1) / period;

    if (count > most)
        count = most;
    if (count < least)
        count = least;
    if (count > most || count * period > INT32_MAX)
        return fail_set(FAIL_UNSUPPORTED,
                        "not enough device memory: a step needs %llu distinct slots",
                        (unsigned long long)needed);
    *slots = (uint32_t)(count * period);
    return FAIL_OK;
}

static int prepare_cache(struct rig *rig, struct rig_cache *cache, uint32_t topk,
                         uint32_t page_tokens, uint64_t stride_bytes, uint64_t seed)
{
    uint32_t slots = 0;
    int code;

    cache->topk = topk;
    if (topk == 0)
        return FAIL_OK;
    code = choose_slots(rig, page_tokens, stride_bytes, (uint64_t)rig->rows * topk, &slots);
    return code == FAIL_OK ? fill_pool(cache, page_tokens, stride_bytes, slots, seed) : code;
}

static int prepare_lengths(struct rig *rig, struct rig_cache *cache, const struct point *point,
                           enum axis_id axis, uint64_t seed)
{
    uint64_t count = (uint64_t)rig->rows * rig->steps;
    int code;

    cache->has_length = cache->topk > 0 && shape_needs_length(point, axis);
    if (!cache->has_length)
        return FAIL_OK;
    code = buffer_reserve(&cache->length, count * sizeof *cache->host_length);
    if (code != FAIL_OK)
        return code;
    cache->host_length = mem_resize(cache->host_length, count, sizeof *cache->host_length);
    shape_lengths(cache->host_length, point, axis, cache->topk, rig->steps, seed);
    return buffer_upload(&cache->length, 0, cache->host_length, count * sizeof *cache->host_length);
}

/* K: as many steps as have index lists of their own, and q and out in at most a
 * quarter of the memory. */
static uint32_t choose_steps(const struct rig *rig, uint64_t row_bytes)
{
    uint64_t steps = RIG_MAX_STEPS;
    const struct rig_cache *caches[] = {&rig->main, &rig->extra};
    uint64_t by_memory = rig->device.memory_free_bytes / 4 / (2 * row_bytes * rig->rows);

    for (size_t i = 0; i < 2; i++)
        if (caches[i]->topk > 0 &&
            steps > caches[i]->slots / ((uint64_t)rig->rows * caches[i]->topk))
            steps = caches[i]->slots / ((uint64_t)rig->rows * caches[i]->topk);
    if (steps > by_memory)
        steps = by_memory;
    return steps > 0 ? (uint32_t)steps : 1;
}

/* q of one row repeats after rig_q_values values, far more than one call reads
 * at once on small points. */
static int prepare_q(struct rig *rig, uint64_t bytes)
{
    uint64_t period_bytes = rig_q_values * sizeof *rig->host_q;
    uint64_t before = rig->q.size;
    int code;

    if (!rig->host_q) {
        rig->host_q = mem_new(rig_q_values, sizeof *rig->host_q);
        synth_fill_q(rig->host_q, rig_q_values, rig->seed + 5);
    }
    code = buffer_reserve(&rig->q, bytes > period_bytes ? bytes : period_bytes);
    if (code != FAIL_OK || rig->q.size == before)
        return code;
    code = buffer_upload(&rig->q, 0, rig->host_q, period_bytes);
    return code == FAIL_OK ? buffer_repeat(&rig->q, period_bytes, rig->q.size) : code;
}

static int prepare_sink(struct rig *rig, const struct kernel_shape *shape)
{
    int code;

    free(rig->host_sink);
    rig->host_sink = NULL;
    if (!shape->has_sink)
        return FAIL_OK;
    rig->host_sink = mem_new(shape->heads, sizeof *rig->host_sink);
    for (uint32_t head = 0; head < shape->heads; head++)
        rig->host_sink[head] =
            (float)(head % 9) / 4 - 1; /* -1 .. 1: what trained sinks look like */
    code = buffer_reserve(&rig->sink, shape->heads * sizeof *rig->host_sink);
    return code == FAIL_OK
               ? buffer_upload(&rig->sink, 0, rig->host_sink, shape->heads * sizeof *rig->host_sink)
               : code;
}

int rig_prepare(struct rig *rig, const struct pass_context *context)
{
    const struct kernel_shape *shape = &context->shape;
    const struct point *point = context->point;
    uint64_t row_bytes = (uint64_t)shape->heads * LAYOUT_DIM * sizeof(uint16_t);
    uint64_t rows;
    int code;

    rig->rows = point->calls * point->batch;
    code = prepare_cache(rig, &rig->main, shape->topk, shape->page_tokens, shape->page_stride_bytes,
                         rig->seed);
    if (code == FAIL_OK)
        code = prepare_cache(rig, &rig->extra, shape->extra_topk, shape->extra_page_tokens,
                             shape->extra_page_stride_bytes, rig->seed + 1000);
    if (code != FAIL_OK)
        return code;
    rig->steps = choose_steps(rig, row_bytes);
    rows = (uint64_t)rig->rows * rig->steps;
    code = prepare_lengths(rig, &rig->main, point, AXIS_LENGTH, rig->seed);
    if (code == FAIL_OK)
        code = prepare_lengths(rig, &rig->extra, point, AXIS_EXTRA_LENGTH, rig->seed + 1);
    if (code == FAIL_OK)
        code = prepare_q(rig, rows * row_bytes);
    if (code == FAIL_OK)
        code = prepare_sink(rig, shape);
    if (code == FAIL_OK)
        code = buffer_reserve(&rig->out, rows * row_bytes);
    if (code == FAIL_OK)
        code = buffer_reserve(&rig->lse, rows * shape->heads * sizeof(float));
    if (code == FAIL_OK)
        code = buffer_reserve(&rig->scratch, context->plan.scratch_bytes);
    return code;
}

static void cache_args(const struct rig_cache *cache, uint64_t first_row, struct kernel_cache *args)
{
    *args = (struct kernel_cache){0};
    if (cache->topk == 0)
        return;
    args->pool = cache->pool.bytes;
    args->index = (const int32_t *)cache->index.bytes + first_row * cache->topk;
    args->length = cache->has_length ? (const int32_t *)cache->length.bytes + first_row : NULL;
    args->topk = cache->topk;
    args->page_tokens = cache->page_tokens;
    args->page_stride_bytes = cache->stride_bytes;
}

void rig_args(const struct rig *rig, const struct pass_context *context, uint32_t step,
              uint32_t call, struct kernel_args *args)
{
    uint32_t heads = context->shape.heads;
    uint64_t first_row = (uint64_t)step * rig->rows + (uint64_t)call * context->shape.batch;

    *args = (struct kernel_args){
        .q = (const uint16_t *)rig->q.bytes + first_row * heads * LAYOUT_DIM,
        .sink = context->shape.has_sink ? rig->sink.bytes : NULL,
        .scale = 1.0f / sqrtf((float)LAYOUT_DIM),
        .heads = heads,
        .batch = context->shape.batch,
        .out = (uint16_t *)rig->out.bytes + first_row * heads * LAYOUT_DIM,
        .lse = (float *)rig->lse.bytes + first_row * heads,
        .scratch = context->plan.scratch_bytes > 0 ? rig->scratch.bytes : NULL,
    };
    cache_args(&rig->main, first_row, &args->main);
    cache_args(&rig->extra, first_row, &args->extra);
}

static void host_cache_args(const struct rig_cache *cache, uint64_t first_row,
                            struct kernel_cache *args)
{
    cache_args(cache, first_row, args);
    if (cache->topk == 0)
        return;
    args->pool = cache->host_pool;
    args->index = cache->host_index + first_row * cache->topk;
    args->length = cache->has_length ? cache->host_length + first_row : NULL;
}

void rig_host_args(const struct rig *rig, const struct pass_context *context, uint32_t step,
                   struct kernel_args *args)
{
    uint64_t first_row = (uint64_t)step * rig->rows;

    rig_args(rig, context, step, 0, args);
    args->batch = rig->rows;
    args->q = NULL; /* repeats: see prepare_q(); the check pass downloads the rows it wants */
    args->sink = rig->host_sink;
    args->out = NULL;
    args->lse = NULL;
    args->scratch = NULL;
    host_cache_args(&rig->main, first_row, &args->main);
    host_cache_args(&rig->extra, first_row, &args->extra);
}

static int launch_call(const struct rig *rig, const struct pass_context *context, uint32_t step,
                       uint32_t call, void *stream)
{
    struct kernel_args args;

    rig_args(rig, context, step, call, &args);
    return device_check(context->kernel->launch(&context->plan, &args, stream),
                        context->kernel->name);
}

int rig_launch_step(const struct rig *rig, const struct pass_context *context, uint32_t step,
                    void *stream)
{
    int code = FAIL_OK;

    for (uint32_t call = 0; code == FAIL_OK && call < context->point->calls; call++)
        code = launch_call(rig, context, step, call, stream);
    return code;
}

static bool is_hot(const struct pass_context *context)
{
    return axis_is_word(&context->point->asked[AXIS_CACHE], "hot");
}

int rig_flush(const struct rig *rig, const struct pass_context *context, void *stream)
{
    return is_hot(context) ? FAIL_OK : graph_flush(rig->flush.bytes, rig->flush.size, stream);
}

uint32_t rig_set(const struct pass_context *context, uint32_t step)
{
    return is_hot(context) ? 0 : step;
}
