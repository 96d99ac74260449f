#include "bench/shape.h"

#include <stdlib.h>

#include "base/fail.h"
#include "base/mem.h"
#include "kernels/layout.h"
#include "kernels/synth.h"

static uint32_t number(const struct point *point, enum axis_id id)
{
    return (uint32_t)point_number(point, id, 0);
}

static int length_fits(const struct point *point, enum axis_id axis, uint32_t width)
{
    int64_t length = point_number(point, axis, -1);

    if (length > (int64_t)width)
        return fail_set(FAIL_UNSUPPORTED, "%s %lld is more than the list's width %u",
                        axis_info(axis)->name, (long long)length, width);
    return FAIL_OK;
}

int shape_from_point(struct kernel_shape *shape, const struct point *point)
{
    bool padded = axis_is_word(&point->asked[AXIS_STRIDE], "padded");
    int code;

    *shape = (struct kernel_shape){
        .heads = number(point, AXIS_HEADS),
        .batch = point->batch,
        .topk = number(point, AXIS_TOPK),
        .extra_topk = number(point, AXIS_EXTRA_TOPK),
        .page_tokens = number(point, AXIS_PAGE),
        .extra_page_tokens = number(point, AXIS_EXTRA_PAGE),
        .has_sink = axis_is_word(&point->asked[AXIS_SINK], "on"),
        .nsplit = axis_is_word(&point->asked[AXIS_NSPLIT], "pow2") ? KERNEL_POW2
                                                                   : number(point, AXIS_NSPLIT),
    };
    shape->page_stride_bytes = padded ? layout_stride_padded(shape->page_tokens)
                                      : layout_stride_unpadded(shape->page_tokens);
    shape->extra_page_stride_bytes = padded ? layout_stride_padded(shape->extra_page_tokens)
                                            : layout_stride_unpadded(shape->extra_page_tokens);
    code = length_fits(point, AXIS_LENGTH, shape->topk);
    if (code == FAIL_OK && shape->extra_topk > 0)
        code = length_fits(point, AXIS_EXTRA_LENGTH, shape->extra_topk);
    return code;
}

bool shape_needs_length(const struct point *point, enum axis_id length_axis)
{
    bool padding = (uint64_t)point->calls * point->batch > point->concurrency;

    return padding || !axis_is_word(&point->asked[length_axis], "full");
}

void shape_lengths(int32_t *lengths, const struct point *point, enum axis_id axis, uint32_t width,
                   uint32_t steps, uint64_t seed)
{
    uint32_t rows = point->calls * point->batch;
    bool mixed = axis_is_word(&point->asked[axis], "mixed");
    int32_t fixed = (int32_t)point_number(point, axis, (int64_t)width);

    for (uint32_t step = 0; step < steps; step++) {
        int32_t *own = lengths + (size_t)step * rows;

        if (mixed)
            synth_mixed_lengths(own, point->concurrency, width, seed + step);
        for (uint32_t row = 0; row < rows; row++)
            if (row >= point->concurrency)
                own[row] = 0;
            else if (!mixed)
                own[row] = fixed;
    }
}

static uint64_t sum_lengths(const struct point *point, enum axis_id axis, uint32_t width,
                            uint64_t seed)
{
    uint64_t sum = 0;
    int32_t *lengths;

    if (width == 0)
        return 0;
    lengths = mem_new((size_t)point->calls * point->batch, sizeof *lengths);
    shape_lengths(lengths, point, axis, width, 1, seed);
    for (uint32_t row = 0; row < point->concurrency; row++)
        sum += (uint64_t)lengths[row];
    free(lengths);
    return sum;
}

void shape_count(struct shape_counts *counts, const struct point *point,
                 const struct kernel_shape *shape, uint64_t seed)
{
    counts->valid_entries = sum_lengths(point, AXIS_LENGTH, shape->topk, seed) +
                            sum_lengths(point, AXIS_EXTRA_LENGTH, shape->extra_topk, seed + 1);
    counts->index_entries = (uint64_t)point->concurrency * (shape->topk + shape->extra_topk);
}
