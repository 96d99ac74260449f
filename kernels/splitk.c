#include "kernels/splitk.h"

#include "data/axis.h"
#include "data/gpuspec.h"
#include "kernels/combine.h"
#include "kernels/mla.h"
#include "kernels/resources.h"

uint32_t splitk_pow2(const struct kernel_shape *shape, const struct gpuspec *spec)
{
    uint64_t blocks = (uint64_t)shape->batch * mla_head_groups(shape);
    uint32_t parts = 1;

    while (blocks * parts * 2 <= 2 * (uint64_t)spec->sm_count && parts * 2 <= mla_tiles(shape))
        parts *= 2;
    return parts;
}

static int splitk_supports(const struct kernel_shape *shape, const struct gpuspec *spec)
{
    return mla_supports(shape, spec, MLA_SMEM_BYTES);
}

static void plan_combine(struct plan_launch *launch, const struct kernel_shape *shape,
                         const struct gpuspec *spec, uint32_t nsplit)
{
    uint64_t values = (uint64_t)shape->batch * shape->heads * LAYOUT_DIM;
    uint64_t scratch = mla_scratch_bytes(shape, nsplit);

    *launch = (struct plan_launch){
        .role = PLAN_COMBINE,
        .name = "smscope_combine",
        .grid = {shape->heads, shape->batch, LAYOUT_DIM / COMBINE_COLUMNS},
        .block = {COMBINE_THREADS, 1, 1},
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

static void splitk_plan(const struct kernel_shape *shape, const struct gpuspec *spec,
                        struct plan *plan)
{
    uint32_t nsplit = shape->nsplit > 0 ? shape->nsplit : splitk_pow2(shape, spec);

    *plan = (struct plan){
        .count = nsplit > 1 ? 2 : 1,
        .nsplit = nsplit,
        .scratch_bytes = mla_scratch_bytes(shape, nsplit),
    };
    mla_plan(&plan->launch[0], "smscope_split", shape, spec, nsplit);
    if (nsplit > 1)
        plan_combine(&plan->launch[1], shape, spec, nsplit);
}

const struct kernel splitk_kernel = {
    .name = "splitk",
    .variant = "portable",
    .summary = "as mma with the list cut into nsplit parts, merged by a second kernel",
    .axes = MLA_AXES | 1u << AXIS_NSPLIT,
    .supports = splitk_supports,
    .plan = splitk_plan,
    .launch = KERNEL_LAUNCH(splitk_launch),
};
