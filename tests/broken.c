#include "tests/broken.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/layout.h"

/* What one part leaves of a (row, head). */
struct partial {
    float max, sum;
    float values[LAYOUT_DIM];
};

struct tile {
    float keys[LAYOUT_TILE][LAYOUT_DIM];
    bool valid[LAYOUT_TILE];
};

/* The call, and the row being worked on. */
struct run {
    enum broken fault;
    const struct kernel_args *args;
    uint32_t nsplit, row, tiles_of_main, tiles;
    struct tile *tile;
    struct partial *partials; /* [nsplit][heads] */
};

static float from_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t to_bf16(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    if (isnan(value))
        return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float from_bf16(uint16_t bits)
{
    return from_bits((uint32_t)bits << 16);
}

/* The code's exponent and mantissa moved to where fp32 has them: the value x 2^-120. */
static float from_e4m3(uint8_t code)
{
    return from_bits((code & 0x80u) << 24 | (code & 0x7fu) << 20) * 0x1p120f;
}

static void decode(const struct kernel_cache *cache, uint32_t slot, float *keys)
{
    const uint8_t *page = cache->pool + slot / cache->page_tokens * cache->page_stride_bytes;
    uint32_t token = slot % cache->page_tokens;
    const uint8_t *row = page + (size_t)token * LAYOUT_ROW_BYTES;
    const uint8_t *scales =
        page + (size_t)cache->page_tokens * LAYOUT_ROW_BYTES + (size_t)token * LAYOUT_SCALE_BYTES;

    for (int i = 0; i < LAYOUT_NOPE; i++)
        keys[i] = from_e4m3(row[i]) * from_bits((uint32_t)scales[i / LAYOUT_GROUP] << 23);
    for (int i = LAYOUT_NOPE; i < LAYOUT_DIM; i++) {
        uint16_t bits;

        memcpy(&bits, row + LAYOUT_NOPE + 2 * (i - LAYOUT_NOPE), sizeof bits);
        keys[i] = from_bf16(bits);
    }
}

static void load_tile(struct run *run, uint32_t number)
{
    bool extra = number >= run->tiles_of_main;
    const struct kernel_cache *cache = extra ? &run->args->extra : &run->args->main;
    uint32_t first = (extra ? number - run->tiles_of_main : number) * LAYOUT_TILE;
    int64_t width = cache->topk;

    if (cache->length && cache->length[run->row] < width)
        width = cache->length[run->row];
    for (uint32_t t = 0; t < LAYOUT_TILE; t++) {
        int32_t index = -1;

        if (first + t < width)
            index = cache->index[(size_t)run->row * cache->topk + first + t];
        run->tile->valid[t] = index >= 0;
        if (index >= 0)
            decode(cache, (uint32_t)index, run->tile->keys[t]);
    }
}

/* Scores of the tile's valid entries; returns their largest, -inf if there is none. */
static float score(const struct run *run, const float *q, float *scores)
{
    float max = -INFINITY;

    for (uint32_t t = 0; t < LAYOUT_TILE; t++) {
        float sums[8] = {0};

        if (!run->tile->valid[t])
            continue;
        for (uint32_t d = 0; d < LAYOUT_DIM; d += 8)
            for (uint32_t lane = 0; lane < 8; lane++)
                sums[lane] += q[d + lane] * run->tile->keys[t][d + lane];
        scores[t] = run->args->scale * (((sums[0] + sums[1]) + (sums[2] + sums[3])) +
                                        ((sums[4] + sums[5]) + (sums[6] + sums[7])));
        max = fmaxf(max, scores[t]);
    }
    return max;
}

static void add_tile(const struct run *run, const float *q, struct partial *partial)
{
    float scores[LAYOUT_TILE];
    float max = fmaxf(partial->max, score(run, q, scores)), rescale;

    if (max == -INFINITY)
        return;
    if (run->fault == BROKEN_NO_MAX)
        max = 0;
    rescale = partial->max == -INFINITY ? 0 : expf(partial->max - max);
    partial->max = max;
    partial->sum *= rescale;
    for (uint32_t d = 0; d < LAYOUT_DIM && run->fault != BROKEN_NO_RESCALE; d++)
        partial->values[d] *= rescale;
    for (uint32_t t = 0; t < LAYOUT_TILE; t++) {
        float weight, rounded;

        if (!run->tile->valid[t])
            continue;
        weight = expf(scores[t] - max);
        rounded = from_bf16(to_bf16(weight));
        partial->sum += weight;
        for (uint32_t d = 0; d < LAYOUT_DIM; d++)
            partial->values[d] += rounded * run->tile->keys[t][d];
    }
}

static void run_part(struct run *run, uint32_t part, const float *q)
{
    struct partial *partials = run->partials + (size_t)part * run->args->heads;
    uint64_t tiles = run->tiles;
    uint32_t first = (uint32_t)(part * tiles / run->nsplit);
    uint32_t end = (uint32_t)((part + 1) * tiles / run->nsplit);

    if (run->fault == BROKEN_LAST_TILE_LOST && end == run->tiles && end > first)
        end--;
    for (uint32_t head = 0; head < run->args->heads; head++)
        partials[head] = (struct partial){.max = -INFINITY};
    for (uint32_t number = first; number < end; number++) {
        load_tile(run, number);
        for (uint32_t head = 0; head < run->args->heads; head++)
            add_tile(run, q + (size_t)head * LAYOUT_DIM, &partials[head]);
    }
}

/* All parts of a head as one; *sinks: what the denominator gets besides the sum. */
static struct partial merge(const struct run *run, uint32_t head, float *sinks)
{
    const struct partial *partials = run->partials + head;
    uint32_t heads = run->args->heads, nsplit = run->nsplit;
    struct partial all = {.max = -INFINITY};

    if (run->fault == BROKEN_SPLIT_DROPPED && nsplit > 1)
        nsplit--;
    for (uint32_t part = 0; part < nsplit; part++)
        all.max = fmaxf(all.max, partials[(size_t)part * heads].max);
    *sinks = 0;
    if (all.max == -INFINITY)
        return all;
    for (uint32_t part = 0; part < nsplit; part++) {
        const struct partial *one = &partials[(size_t)part * heads];
        float weight = one->max == -INFINITY ? 0 : expf(one->max - all.max);

        if (weight == 0)
            continue;
        all.sum += weight * one->sum;
        for (uint32_t d = 0; d < LAYOUT_DIM; d++)
            all.values[d] += weight * one->values[d];
        if (run->args->sink && (*sinks == 0 || run->fault == BROKEN_SINK_PER_SPLIT))
            *sinks += expf(run->args->sink[head] - all.max);
    }
    return all;
}

static void write_row(const struct run *run, float factor)
{
    for (uint32_t head = 0; head < run->args->heads; head++) {
        size_t number = (size_t)run->row * run->args->heads + head;
        float sinks;
        struct partial all = merge(run, head, &sinks);
        bool empty = all.max == -INFINITY;
        float keep = empty ? 0 : factor / (all.sum + sinks);

        run->args->lse[number] = empty ? INFINITY : all.max + logf(all.sum);
        for (uint32_t d = 0; d < LAYOUT_DIM; d++)
            run->args->out[number * LAYOUT_DIM + d] = to_bf16(all.values[d] * keep);
    }
}

/* Returns whether the row has any entry. */
static bool run_row(struct run *run, float factor)
{
    uint32_t heads = run->args->heads;
    const uint16_t *from = run->args->q + (size_t)run->row * heads * LAYOUT_DIM;
    float *q = mem_new((size_t)heads * LAYOUT_DIM, sizeof *q);
    bool any = false;

    for (size_t i = 0; i < (size_t)heads * LAYOUT_DIM; i++)
        q[i] = from_bf16(from[i]);
    for (uint32_t part = 0; part < run->nsplit; part++) {
        run_part(run, part, q);
        any |= run->partials[(size_t)part * heads].max != -INFINITY;
    }
    write_row(run, any ? factor : 1);
    free(q);
    return any;
}

static void write_nan(const struct kernel_args *args)
{
    size_t vectors = (size_t)args->batch * args->heads;

    for (size_t i = 0; i < vectors; i++)
        args->lse[i] = NAN;
    for (size_t i = 0; i < vectors * LAYOUT_DIM; i++)
        args->out[i] = 0x7fff;
}

void broken_run(enum broken fault, const struct kernel_args *args, uint32_t nsplit)
{
    uint32_t tiles_of_main = (args->main.topk + LAYOUT_TILE - 1) / LAYOUT_TILE;
    struct run run = {
        .fault = fault,
        .args = args,
        .nsplit = nsplit,
        .tiles_of_main = tiles_of_main,
        .tiles = tiles_of_main + (args->extra.topk + LAYOUT_TILE - 1) / LAYOUT_TILE,
    };
    uint32_t rows = fault == BROKEN_HALF_THE_ROWS ? (args->batch + 1) / 2 : args->batch;
    float factor = fault == BROKEN_ROW_OFF ? 1.1f : 1;

    if (fault == BROKEN_DOES_NOTHING)
        return;
    if (fault == BROKEN_WRITES_NAN) {
        write_nan(args);
        return;
    }
    run.tile = mem_new(1, sizeof *run.tile);
    run.partials = mem_new((size_t)nsplit * args->heads, sizeof *run.partials);
    for (run.row = 0; run.row < rows; run.row++)
        if (run_row(&run, factor))
            factor = 1;
    free(run.partials);
    free(run.tile);
}
