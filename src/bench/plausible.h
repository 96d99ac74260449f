/*
 * plausible: numbers that cannot be.  A counter that tells more than the whole is not clamped to
 * it: the point is invalid and says which.
 */
#ifndef BENCH_PLAUSIBLE_H
#define BENCH_PLAUSIBLE_H

#include "bench/record.h"
#include "data/gpuspec.h"

/*
 * Of each launch: achieved occupancy within 0 and its theoretical occupancy (100 % where that is
 * not known), with 1 % of it for the counters' own error; busy SMs within 0 and the SMs there are,
 * likewise.  Makes the point STORE_INVALID at the first that is not.
 */
void plausible_check(struct record *record, const struct gpuspec *spec);

#endif
