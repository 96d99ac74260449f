/*
 * bound: the roofs of a run's device, and how near a step comes to each.
 *
 * A share is 100 x the step's work / (step time x roof).  fma and tensor: useful flops, 2 x heads x
 * valid entries x 1024, over the peak of the unit that the main launches use; the other one stays
 * empty.  l2: bytes read by SMs from L2, dram: bytes read and written, of all launches.  bound
 * names the largest of the three.  A low share of it means that none of the four roofs limits the
 * step: latency, issue slots, shared memory or idle SMs do.
 */
#ifndef ANALYSIS_BOUND_H
#define ANALYSIS_BOUND_H

#include "analysis/row.h"
#include "model/roofline.h"

struct bound_roofs {
    struct roofline_ceilings ceilings; /* of pct_of_floor: DRAM and matrix product */
    double fma_flops_per_s, l2_bytes_per_s;
    char assumed[ROW_ROOFS_ROOM]; /* roofs that are no measured or published figure: "fma,l2" */
};

/* Measured in the run where it holds them, else the figures of its device; NaN without either. */
void bound_find_roofs(struct bound_roofs *roofs, const struct store_file *file);

/* Fills the shares of a row whose point, step_us, source and tflops are filled. */
void bound_fill(struct row *row, const struct bound_roofs *roofs);

#endif
