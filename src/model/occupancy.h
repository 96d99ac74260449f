/*
 * occupancy: how many blocks of a launch an SM can hold, for compute capability 8.0 to 12.x.
 *
 * The rules are those of NVIDIA's occupancy calculator (cuda_occupancy.h of the CUDA toolkit):
 *   registers      at most 255 a thread, given to a warp in units of 256; a warp takes them from
 *                  one of the SM's four sub-partitions, which have a quarter of them each
 *   shared memory  static + dynamic + the driver's reserved part, in units of 128 bytes; the SM is
 *                  taken to be set to its largest carve-out
 *   barriers       hardware barriers of a block against those of the SM (from 9.0 on)
 *   warps, blocks  the SM's maximum
 */
#ifndef MODEL_OCCUPANCY_H
#define MODEL_OCCUPANCY_H

#include "data/gpuspec.h"
#include "data/plan.h"

enum occupancy_limit {
    OCCUPANCY_WARPS,
    OCCUPANCY_BLOCKS,
    OCCUPANCY_REGISTERS,
    OCCUPANCY_SMEM,
    OCCUPANCY_BARRIERS,
    OCCUPANCY_LIMITS
};

struct occupancy {
    /* Resident blocks each resource alone would allow; max_blocks_per_sm where
     * a launch uses none of it. */
    int blocks[OCCUPANCY_LIMITS];
    int resident_blocks;        /* the smallest; 0: does not fit on an SM */
    enum occupancy_limit limit; /* the first that is smallest */
    double theoretical_pct;     /* resident warps / max_warps_per_sm, grid not considered */
};

/* FAIL_UNSUPPORTED, with everything filled in, when not even one block fits on an SM. */
int occupancy_compute(struct occupancy *occupancy, const struct gpuspec *spec,
                      const struct plan_launch *launch);

/* "warps", "blocks", "registers", "shared memory", "barriers" */
const char *occupancy_limit_name(enum occupancy_limit limit);

#endif
