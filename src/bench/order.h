/*
 * order: in which order a sweep runs its points.
 *
 * A GPU warms up, other jobs come and go: what is measured late differs from what is measured
 * early.  In the order asked for, that difference would look like one between axis values.  So
 * points run in a random order, that of their keys' seeded hashes; it is the same for every child
 * and for a sweep that goes on, also when points were added meanwhile.
 *
 * Points that are read side by side, that is those that differ in kernel, variant or nsplit alone,
 * form a block: a block runs as one, in random order within, so that what drifts meets all of it
 * alike.
 */
#ifndef BENCH_ORDER_H
#define BENCH_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "data/point.h"

/* The points' places in the list, in running order; to be freed with free(). */
size_t *order_make(const struct point_list *points, uint64_t seed);

#endif
