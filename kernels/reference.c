#include "kernels/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/layout.h"
#include "kernels/parallel.h"

enum {
    REFERENCE_BLOCK = 16, /* entries that are dequantised at once: they stay in the first caches */
    REFERENCE_MAX_HEADS = 16 /* heads that share a dequantised block */
};

double reference_e4m3(uint8_t code)
{
    int exponent = code >> 3 & 15, mantissa = code & 7;
    double magnitude = exponent == 0 ? ldexp(mantissa, -9) : ldexp(8 + mantissa, exponent - 10);

    if ((code & 0x7f) == 0x7f)
        return NAN;
    return code & 0x80 ? -magnitude : magnitude;
}

double reference_e8m0(uint8_t byte)
{
    return byte == 0xff ? NAN : ldexp(1, byte - 127);
}

double reference_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof value);
    return value;
}

static void fill_codes(double *codes)
{
    for (int code = 0; code < 256; code++)
        codes[code] = reference_e4m3((uint8_t)code);
}

static void dequantise(const struct kernel_cache *cache, uint64_t slot, const double *codes,
                       double *values)
{
    const uint8_t *page = cache->pool + slot / cache->page_tokens * cache->page_stride_bytes;
    uint64_t token = slot % cache->page_tokens;
    const uint8_t *row = page + token * LAYOUT_ROW_BYTES;
    const uint8_t *scales =
        page + (uint64_t)cache->page_tokens * LAYOUT_ROW_BYTES + token * LAYOUT_SCALE_BYTES;

    for (int group = 0; group < LAYOUT_GROUPS; group++) {
        double scale = reference_e8m0(scales[group]);

        for (int i = group * LAYOUT_GROUP; i < (group + 1) * LAYOUT_GROUP; i++)
            values[i] = codes[row[i]] * scale;
    }
    for (int i = 0; i < LAYOUT_ROPE; i++) {
        const uint8_t *bytes = row + LAYOUT_NOPE + 2 * i;

        values[LAYOUT_NOPE + i] = reference_bf16((uint16_t)(bytes[0] | bytes[1] << 8));
    }
}

void reference_token(const struct kernel_cache *cache, uint64_t slot, double *values)
{
    double codes[256];

    fill_codes(codes);
    dequantise(cache, slot, codes, values);
}

/* The call: an item is one row with up to REFERENCE_MAX_HEADS of its heads. */
struct job {
    const struct kernel_args *args;
    struct reference_part part;
    uint32_t row_count, head_count, heads_per_item, items_per_row;
    double codes[256];
    double *out, *lse;
};

struct entry {
    const struct kernel_cache *cache;
    uint64_t slot;
};

/* What one item works on. */
struct item {
    struct entry *entries;
    uint32_t count;
    uint32_t heads;
    double (*q)[LAYOUT_DIM];     /* [heads][512] */
    double *scores;              /* [heads][count], then their exponentials */
    double *out;                 /* [heads][512] */
    double *lse;                 /* [heads] */
    double (*block)[LAYOUT_DIM]; /* [REFERENCE_BLOCK][512] */
    double *columns;             /* [512][REFERENCE_BLOCK]: the block transposed */
};

static void gather(struct item *item, const struct kernel_cache *cache, uint64_t period,
                   uint32_t row)
{
    uint32_t count = cache->topk;

    if (cache->length) {
        int32_t length = cache->length[row];

        if (length < 0)
            length = 0;
        if ((uint32_t)length < count)
            count = (uint32_t)length;
    }
    for (uint32_t i = 0; i < count; i++) {
        int32_t index = cache->index[(uint64_t)row * cache->topk + i];

        if (index < 0)
            continue;
        item->entries[item->count++] =
            (struct entry){cache, period > 0 ? (uint64_t)index % period : (uint64_t)index};
    }
}

/* Returns how many entries the block that starts at `first` has. */
static uint32_t load_block(const struct job *job, struct item *item, uint32_t first)
{
    uint32_t count = item->count - first;

    if (count > REFERENCE_BLOCK)
        count = REFERENCE_BLOCK;
    for (uint32_t t = 0; t < count; t++)
        dequantise(item->entries[first + t].cache, item->entries[first + t].slot, job->codes,
                   item->block[t]);
    return count;
}

static void dot_products(const double *restrict q, const double *restrict columns,
                         double *restrict sums)
{
    for (int t = 0; t < REFERENCE_BLOCK; t++)
        sums[t] = 0;
    for (int d = 0; d < LAYOUT_DIM; d++)
        for (int t = 0; t < REFERENCE_BLOCK; t++)
            sums[t] += q[d] * columns[d * REFERENCE_BLOCK + t];
}

static void score_entries(const struct job *job, struct item *item)
{
    double sums[REFERENCE_BLOCK];

    for (uint32_t first = 0; first < item->count; first += REFERENCE_BLOCK) {
        uint32_t count = load_block(job, item, first);

        for (int d = 0; d < LAYOUT_DIM; d++)
            for (int t = 0; t < REFERENCE_BLOCK; t++)
                item->columns[d * REFERENCE_BLOCK + t] = item->block[t][d];
        for (uint32_t h = 0; h < item->heads; h++) {
            dot_products(item->q[h], item->columns, sums);
            for (uint32_t t = 0; t < count; t++)
                item->scores[(uint64_t)h * item->count + first + t] =
                    (double)job->args->scale * sums[t];
        }
    }
}

/* Scores of one head to exp(s - max); returns their sum. */
static double exponentials(double *scores, uint32_t count, double *max)
{
    double sum = 0;

    *max = -INFINITY;
    for (uint32_t i = 0; i < count; i++)
        *max = fmax(*max, scores[i]);
    for (uint32_t i = 0; i < count; i++) {
        scores[i] = exp(scores[i] - *max);
        sum += scores[i];
    }
    return sum;
}

static void add_values(double *restrict out, const double *restrict values, double weight)
{
    for (int d = 0; d < LAYOUT_DIM; d++)
        out[d] += weight * values[d];
}

/* -0 + x is x for every x, -0 included: a row of one entry comes out bit for bit. */
static void weigh_entries(const struct job *job, struct item *item)
{
    for (uint32_t i = 0; i < item->heads * LAYOUT_DIM; i++)
        item->out[i] = -0.0;
    for (uint32_t first = 0; first < item->count; first += REFERENCE_BLOCK) {
        uint32_t count = load_block(job, item, first);

        for (uint32_t h = 0; h < item->heads; h++)
            for (uint32_t t = 0; t < count; t++)
                add_values(item->out + h * LAYOUT_DIM, item->block[t],
                           item->scores[(uint64_t)h * item->count + first + t]);
    }
}

static void attend(const struct job *job, struct item *item, const uint32_t *heads)
{
    double sums[REFERENCE_MAX_HEADS];

    score_entries(job, item);
    for (uint32_t h = 0; h < item->heads; h++) {
        double max;

        sums[h] = exponentials(item->scores + (uint64_t)h * item->count, item->count, &max);
        item->lse[h] = max + log(sums[h]);
    }
    weigh_entries(job, item);
    for (uint32_t h = 0; h < item->heads; h++) {
        double *out = item->out + h * LAYOUT_DIM;
        double keep =
            job->args->sink ? 1 / (1 + exp((double)job->args->sink[heads[h]] - item->lse[h])) : 1;

        for (int d = 0; d < LAYOUT_DIM; d++)
            out[d] = out[d] / sums[h] * keep;
    }
}

static void attend_to_nothing(struct item *item)
{
    for (uint32_t h = 0; h < item->heads; h++)
        item->lse[h] = INFINITY;
    memset(item->out, 0, item->heads * LAYOUT_DIM * sizeof *item->out);
}

static void load_queries(const struct kernel_args *args, struct item *item, uint32_t row,
                         const uint32_t *heads)
{
    for (uint32_t h = 0; h < item->heads; h++) {
        const uint16_t *q = args->q + ((uint64_t)row * args->heads + heads[h]) * LAYOUT_DIM;

        for (int d = 0; d < LAYOUT_DIM; d++)
            item->q[h][d] = reference_bf16(q[d]);
    }
}

static void run_item(void *context, uint64_t number)
{
    const struct job *job = context;
    const struct kernel_args *args = job->args;
    uint32_t r = (uint32_t)(number / job->items_per_row);
    uint32_t first = (uint32_t)(number % job->items_per_row) * job->heads_per_item;
    uint32_t row = job->part.rows ? job->part.rows[r] : r;
    uint64_t to = (uint64_t)r * job->head_count + first;
    struct item item = {.out = job->out + to * LAYOUT_DIM, .lse = job->lse + to};
    uint32_t heads[REFERENCE_MAX_HEADS];

    while (item.heads < job->heads_per_item && first + item.heads < job->head_count) {
        heads[item.heads] =
            job->part.heads ? job->part.heads[first + item.heads] : first + item.heads;
        item.heads++;
    }
    item.entries = mem_new((size_t)args->main.topk + args->extra.topk, sizeof *item.entries);
    gather(&item, &args->main, job->part.period_slots, row);
    gather(&item, &args->extra, job->part.extra_period_slots, row);
    item.q = mem_new(item.heads, sizeof *item.q);
    item.scores = mem_new((size_t)item.heads * item.count, sizeof *item.scores);
    item.block = mem_new(REFERENCE_BLOCK, sizeof *item.block);
    item.columns = mem_new(LAYOUT_DIM * REFERENCE_BLOCK, sizeof *item.columns);
    load_queries(args, &item, row, heads);
    if (item.count > 0)
        attend(job, &item, heads);
    else
        attend_to_nothing(&item);
    free(item.columns);
    free(item.block);
    free(item.scores);
    free(item.q);
    free(item.entries);
}

void reference_run(const struct kernel_args *args, const struct reference_part *part, double *out,
                   double *lse, unsigned threads)
{
    struct job job = {.args = args, .out = out, .lse = lse};

    if (part)
        job.part = *part;
    job.row_count = job.part.rows ? job.part.row_count : args->batch;
    job.head_count = job.part.heads ? job.part.head_count : args->heads;
    if (job.row_count == 0 || job.head_count == 0)
        return;
    /* few rows: fewer heads an item, so that every thread gets some */
    job.heads_per_item = job.row_count * job.head_count / 64;
    if (job.heads_per_item < 4)
        job.heads_per_item = 4;
    if (job.heads_per_item > REFERENCE_MAX_HEADS)
        job.heads_per_item = REFERENCE_MAX_HEADS;
    job.items_per_row = (job.head_count + job.heads_per_item - 1) / job.heads_per_item;
    fill_codes(job.codes);
    parallel_for((uint64_t)job.row_count * job.items_per_row, threads, run_item, &job);
}
