#include "kernels/combine.h"

#include "data/gpuspec.h"
#include "data/plan.h"
#include "kernels/mla.h"
#include "kernels/resources.h"

enum { RESIDENT_WARPS = COMBINE_BLOCKS_PER_SM * COMBINE_WARPS };

void combine_plan(struct plan_launch *launch, const struct kernel_shape *shape,
                  const struct gpuspec *spec, uint32_t nsplit)
{
    uint64_t values = (uint64_t)shape->batch * shape->heads * LAYOUT_DIM;
    uint64_t scratch = mla_scratch_bytes(shape, nsplit);
    uint64_t warps = (uint64_t)shape->batch * shape->heads; /* with all columns of theirs */
    bool few = warps * COMBINE_CHUNKS <= (uint64_t)spec->sm_count * RESIDENT_WARPS;

    warps *= few ? COMBINE_CHUNKS : 1;
    *launch = (struct plan_launch){
        .role = PLAN_COMBINE,
        .name = few ? COMBINE_FEW : "smscope_combine",
        .grid = {(uint32_t)((warps + COMBINE_WARPS - 1) / COMBINE_WARPS), 1, 1},
        .block = {COMBINE_THREADS, 1, 1},
        .overlaps = spec->cc_major >= 9,
        .unit = PLAN_FMA,
        .tiles = nsplit,
        .blocks_ahead = 1,
        .dram_bytes = mla_out_bytes(shape),
        .l2_bytes = scratch + mla_out_bytes(shape),
        .scratch_bytes = scratch,
        .flops = 2 * values * nsplit,
    };
    resources_fill(launch, spec->cc_major, spec->cc_minor, COMBINE_BLOCKS_PER_SM);
}
