/*
 * combine: merges the parts of split-K by log-sum-exp.
 */
#ifndef KERNELS_COMBINE_H
#define KERNELS_COMBINE_H

#include "kernels/kernel.h"
#include "kernels/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

struct call;
struct gpuspec;
struct plan_launch;

/*
 * A warp merges a row and head: COMBINE_CHUNKS x 128 columns, four of each chunk a lane; all parts'
 * loads are independent.  COMBINE_FEW, where that would leave SMs idle: a warp has 128 columns.
 */
enum {
    COMBINE_WARPS = 4,
    COMBINE_THREADS = COMBINE_WARPS * 32,
    COMBINE_CHUNKS = LAYOUT_DIM / 128,
    COMBINE_BLOCKS_PER_SM = 4
};
#define COMBINE_FEW "smscope_combine_few"

/* The launch that merges nsplit parts. */
void combine_plan(struct plan_launch *launch, const struct kernel_shape *shape,
                  const struct gpuspec *spec, uint32_t nsplit);

/* From combine.cu, for those that split. */
int combine_launch(const struct plan_launch *launch, const struct call *call, void *stream);

#ifdef __cplusplus
}
#endif

#endif
