/*
 * ceilings: what the device itself reaches, measured once a run and stored in it, so that a point
 * is held against this very device (analysis/bound.h).
 *
 *   read_roof_gb_per_s   bytes read / time, of a kernel that reads a buffer far larger than L2
 *   copy_roof_gb_per_s   bytes read and written / time, of one that copies half of it to the other
 *   matrix_peak_tflops   2 n^3 / time of cuBLAS' product of n x n bf16 matrices with sums in fp32,
 *                        n = CEILINGS_MATRIX, filled with N(0,1) as zeros would flatter it
 *
 * Each is the best of many replays between device events, L2 flushed before each.  What cannot be
 * measured (no cuBLAS, not enough memory) is told on stderr and missing; readers take the device
 * file's figure then.
 */
#ifndef BENCH_CEILINGS_H
#define BENCH_CEILINGS_H

#include "bench/rig.h"
#include "data/store.h"

enum { CEILINGS_MATRIX = 8192 };

/* Those that the run does not hold yet.  FAIL_DATA: the run file cannot be written. */
int ceilings_measure(struct store *store, const struct rig *rig);

#endif
