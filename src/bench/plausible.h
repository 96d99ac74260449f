/*
 * plausible: numbers that cannot be.  A counter that tells more than the whole is not clamped to
 * it, and a cold result that was warm is not kept: the point is invalid and says which.
 */
#ifndef BENCH_PLAUSIBLE_H
#define BENCH_PLAUSIBLE_H

#include "bench/record.h"
#include "data/gpuspec.h"

/*
 * Makes the point STORE_INVALID at the first that does not hold.
 *
 * Of each launch: achieved occupancy within 0 and its theoretical occupancy (100 % where that is
 * not known), with 1 % of it for the counters' own error; busy SMs within 0 and the SMs there are,
 * likewise.
 *
 * Unless the point asks for cache=hot: a launch reads from DRAM at least 95 % of must_read_bytes
 * (bench/compulsory.h; 5 % for what a flush may leave in L2: 118 points of an H200 read 105 % or
 * more), and a step reads its must_read_bytes no faster than 1.02 x read_roof_gb_per_s, the read
 * roof measured in the run; NaN: there is none.
 */
void plausible_check(struct record *record, const struct gpuspec *spec, double read_roof_gb_per_s);

#endif
