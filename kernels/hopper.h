/*
 * hopper: the tensor-core kernels for compute capability 9.0: wgmma, and a block whose warpgroups
 * have different tasks.
 *
 * A block works on 64 heads of a row and one part of its list.  mma and splitk have it as variant
 * `hopper`; variant `cluster` of splitk merges two parts inside the kernel, the parts of a row
 * being the blocks of a cluster.
 */
#ifndef KERNELS_HOPPER_H
#define KERNELS_HOPPER_H

#include "kernels/kernel.h"
#include "kernels/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HOPPER_HEADS = 64, /* of a block: rows of a wgmma */
    HOPPER_TILE = 2 * LAYOUT_TILE,
    HOPPER_STAGES = 2,  /* tiles of bf16 */
    HOPPER_GROUP = 128, /* threads of a warpgroup */
    HOPPER_LEFT = 128,  /* columns of out in the registers of the warpgroup that has the scores */
    HOPPER_RIGHT = LAYOUT_DIM - HOPPER_LEFT, /* and in the other's */
    HOPPER_THREADS = 3 * HOPPER_GROUP,
    HOPPER_BLOCKS_PER_SM = 1,
    HOPPER_CLUSTER = 2, /* blocks of a cluster, parts that it merges */
    HOPPER_SMEM_BYTES = 220928
};

/* Of mma and splitk. */
extern const struct kernel mma_hopper_kernel, splitk_hopper_kernel, splitk_cluster_kernel;

int hopper_mma_launch(const struct plan *plan, const struct kernel_args *args, void *stream);
int hopper_splitk_launch(const struct plan *plan, const struct kernel_args *args, void *stream);

#ifdef __cplusplus
}
#endif

#endif
