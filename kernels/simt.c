#include "kernels/simt.h"

#include "data/axis.h"
#include "data/gpuspec.h"
#include "kernels/mla.h"
#include "kernels/resources.h"

static int simt_supports(const struct kernel_shape *shape, const struct gpuspec *spec)
{
    return mla_supports(shape, spec, SIMT_SMEM_BYTES);
}

static void simt_plan(const struct kernel_shape *shape, const struct gpuspec *spec,
                      struct plan *plan)
{
    struct plan_launch *launch = &plan->launch[0];

    *plan = (struct plan){.count = 1, .nsplit = 1};
    *launch = (struct plan_launch){
        .role = PLAN_MAIN,
        .name = "smscope_simt",
        .grid = {shape->heads, shape->batch, 1},
        .block = {SIMT_THREADS, 1, 1},
        .smem_dynamic_bytes = SIMT_SMEM_BYTES,
        .unit = PLAN_FMA,
        .tiles = mla_tiles(shape),
        .blocks_ahead = 1,
        .valid_entries = mla_entries(shape),
        .dram_bytes = mla_dram_bytes(shape),
        .l2_bytes = mla_l2_bytes(shape, shape->heads),
        .flops = mla_entries(shape) * shape->heads * 4 * LAYOUT_DIM,
    };
    resources_fill(launch, spec->cc_major, spec->cc_minor, SIMT_BLOCKS_PER_SM);
}

const struct kernel simt_kernel = {
    .name = "simt",
    .variant = "portable",
    .summary = "fp32 arithmetic, one block a row and head, KV read once a head",
    .axes = MLA_AXES,
    .supports = simt_supports,
    .plan = simt_plan,
    .launch = KERNEL_LAUNCH(simt_launch),
};
