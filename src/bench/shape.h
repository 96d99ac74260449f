/*
 * shape: a point's values as the shape of one kernel call, and the counts that depend on them.
 */
#ifndef BENCH_SHAPE_H
#define BENCH_SHAPE_H

#include <stdint.h>

#include "data/point.h"
#include "kernels/kernel.h"

/* Entries that count and index entries, of the C requests of one step. */
struct shape_counts {
    uint64_t valid_entries;
    uint64_t index_entries;
};

/* FAIL_UNSUPPORTED when the axes contradict each other (a length above topk). */
int shape_from_point(struct kernel_shape *shape, const struct point *point);

/* Whether the call needs a length array: length is not full, or some rows are padding. */
bool shape_needs_length(const struct point *point, enum axis_id length_axis);

/*
 * Lengths of `steps` steps of calls x batch rows: the requests' own, then 0 for the padding rows of
 * each step. `mixed` draws with seed.  axis is AXIS_LENGTH or AXIS_EXTRA_LENGTH, width that list's.
 */
void shape_lengths(int32_t *lengths, const struct point *point, enum axis_id axis, uint32_t width,
                   uint32_t steps, uint64_t seed);

/* Counts of the first step, from the same lengths. */
void shape_count(struct shape_counts *counts, const struct point *point,
                 const struct kernel_shape *shape, uint64_t seed);

#endif
