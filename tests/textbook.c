#include "tests/textbook.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "kernels/layout.h"

/* Codes in order: each eight share a step, which doubles after the first 16. */
static void make_table(long double *table)
{
    long double value = 0, step = 1.0L / 512;

    for (int code = 0; code < 128; code++) {
        table[code] = value;
        table[128 + code] = -value;
        if (code >= 16 && code % 8 == 0)
            step *= 2;
        value += step;
    }
}

static long double power_of_two(int exponent)
{
    long double value = 1;

    for (; exponent > 0; exponent--)
        value *= 2;
    for (; exponent < 0; exponent++)
        value /= 2;
    return value;
}

static long double bf16_value(unsigned bits)
{
    int exponent = (int)(bits >> 7 & 255);
    long double mantissa = (long double)(bits & 127) / 128 + (exponent > 0);
    long double value = mantissa * power_of_two((exponent > 0 ? exponent : 1) - 127);

    return bits & 0x8000 ? -value : value;
}

static void decode(const struct kernel_cache *cache, int32_t slot, long double *row)
{
    static long double table[256];
    uint32_t page = (uint32_t)slot / cache->page_tokens,
             token = (uint32_t)slot % cache->page_tokens;
    const uint8_t *base = cache->pool + page * cache->page_stride_bytes;

    if (table[1] == 0)
        make_table(table);
    for (uint32_t i = 0; i < 448; i++) {
        int byte = base[576 * cache->page_tokens + 8 * token + i / 64];

        row[i] = table[base[576 * token + i]] * power_of_two(byte - 127);
    }
    for (uint32_t i = 0; i < 64; i++) {
        const uint8_t *two = base + 576 * token + 448 + 2 * i;

        row[448 + i] = bf16_value(two[0] + 256u * two[1]);
    }
}

/* Appends the rows of the list's valid entries; returns how many. */
static size_t dense_rows(const struct kernel_cache *cache, uint32_t row, long double *matrix)
{
    size_t count = 0;

    for (uint32_t i = 0; i < cache->topk; i++) {
        int32_t index = cache->index[row * cache->topk + i];

        if (index >= 0 && (!cache->length || (int64_t)i < cache->length[row]))
            decode(cache, index, matrix + LAYOUT_DIM * count++);
    }
    return count;
}

/* Scores of all rows of the matrix; returns the largest. */
static long double score(const struct kernel_args *args, const uint16_t *q,
                         const long double *matrix, size_t count, long double *scores)
{
    long double max = -INFINITY;

    for (size_t e = 0; e < count; e++) {
        scores[e] = 0;
        for (size_t i = 0; i < LAYOUT_DIM; i++)
            scores[e] += bf16_value(q[i]) * matrix[e * LAYOUT_DIM + i];
        scores[e] *= (long double)args->scale;
        max = fmaxl(max, scores[e]);
    }
    return max;
}

static long double head_difference(const struct kernel_args *args, uint32_t row, uint32_t head,
                                   const long double *matrix, size_t count, const double *out,
                                   double lse)
{
    const uint16_t *q = args->q + (row * args->heads + head) * LAYOUT_DIM;
    long double *p = mem_new(count, sizeof *p);
    long double max = score(args, q, matrix, count, p), sum = 0, worst = 0, largest = 0;
    long double sink = args->sink ? expl((long double)args->sink[head] - max) : 0, true_lse;

    for (size_t e = 0; e < count; e++)
        sum += p[e] = expl(p[e] - max);
    for (size_t i = 0; i < LAYOUT_DIM; i++) {
        long double value = 0;

        for (size_t e = 0; e < count; e++) {
            value += p[e] / (sum + sink) * matrix[e * LAYOUT_DIM + i];
            largest = fmaxl(largest, fabsl(matrix[e * LAYOUT_DIM + i]));
        }
        worst = fmaxl(worst, fabsl(value - (long double)out[i]));
    }
    free(p);
    if (count == 0)
        return lse == INFINITY ? worst : INFINITY;
    true_lse = max + logl(sum);
    return fmaxl(worst / largest, fabsl((long double)lse - true_lse) / fmaxl(1, fabsl(true_lse)));
}

double textbook_difference(const struct kernel_args *args, uint32_t row, const double *out,
                           const double *lse)
{
    size_t width = (size_t)args->main.topk + args->extra.topk;
    long double *matrix = mem_new(width * LAYOUT_DIM, sizeof *matrix), worst = 0;
    size_t count = dense_rows(&args->main, row, matrix);

    count += dense_rows(&args->extra, row, matrix + count * LAYOUT_DIM);
    for (uint32_t head = 0; head < args->heads; head++)
        worst = fmaxl(worst, head_difference(args, row, head, matrix, count,
                                             out + head * LAYOUT_DIM, lse[head]));
    free(matrix);
    return (double)worst;
}
