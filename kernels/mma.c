#include "kernels/mma.h"

#include "data/axis.h"
#include "kernels/mla.h"

static int mma_supports(const struct kernel_shape *shape, const struct gpuspec *spec)
{
    return mla_supports(shape, spec, MLA_SMEM_BYTES);
}

static void mma_plan(const struct kernel_shape *shape, const struct gpuspec *spec,
                     struct plan *plan)
{
    *plan = (struct plan){.count = 1, .nsplit = 1};
    mla_plan(&plan->launch[0], "smscope_mma", shape, spec, 1);
}

const struct kernel mma_kernel = {
    .name = "mma",
    .variant = "portable",
    .summary = "tensor cores (mma.sync), one block a row and 32 heads",
    .axes = MLA_AXES,
    .supports = mma_supports,
    .plan = mma_plan,
    .launch = KERNEL_LAUNCH(mma_launch),
};
