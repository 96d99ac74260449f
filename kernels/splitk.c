#include "kernels/splitk.h"

#include "data/axis.h"
#include "data/gpuspec.h"
#include "kernels/combine.h"
#include "kernels/mla.h"

static int splitk_supports(const struct kernel_shape *shape, const struct gpuspec *spec)
{
    return mla_supports(shape, spec, MLA_SMEM_BYTES);
}

static void splitk_plan(const struct kernel_shape *shape, const struct gpuspec *spec,
                        struct plan *plan)
{
    bool rule = shape->nsplit == 0 || shape->nsplit == KERNEL_POW2;
    uint32_t nsplit = rule ? mla_pow2(shape, spec, mla_head_groups(shape)) : shape->nsplit;

    *plan = (struct plan){
        .count = nsplit > 1 ? 2 : 1,
        .nsplit = nsplit,
        .scratch_bytes = mla_scratch_bytes(shape, nsplit),
    };
    mla_plan(&plan->launch[0], "smscope_split", shape, spec, nsplit);
    if (nsplit > 1)
        combine_plan(&plan->launch[1], shape, spec, nsplit);
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
