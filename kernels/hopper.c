#include "kernels/hopper.h"

#include <string.h>

#include "base/fail.h"
#include "data/axis.h"
#include "data/gpuspec.h"
#include "kernels/combine.h"
#include "kernels/mla.h"
#include "kernels/resources.h"

static uint32_t head_groups(const struct kernel_shape *shape)
{
    return (shape->heads + HOPPER_HEADS - 1) / HOPPER_HEADS;
}

static int hopper_supports(const struct kernel_shape *shape, const struct gpuspec *spec)
{
    int code;

    if (spec->cc_major != 9 || spec->cc_minor != 0)
        return fail_set(FAIL_UNSUPPORTED, "wgmma needs compute capability 9.0, not %d.%d",
                        spec->cc_major, spec->cc_minor);
    code = mla_supports(shape, spec, HOPPER_SMEM_BYTES);
#ifdef HAVE_CUDA
    if (code == FAIL_OK && strstr(CUDA_ARCHS, "90a") == NULL)
        code = fail_set(FAIL_UNSUPPORTED, "this build has no code for sm_90a");
#endif
    return code;
}

/*
 * Measured on an H200 (kernels/README.md, entry 2): a list tile takes about 1 us.  Merging takes 2
 * to 3 us while half of the SMs are free for the combine kernel to wait on, and about 6 when they
 * are not; so the parts fill half of the SMs, and all of them only where that halves 8 tiles or
 * more.
 */
enum { FEW_TILES = 4, WORTH_FILLING = 8, MOST_PARTS = 16 };

static uint32_t default_parts(const struct kernel_shape *shape, const struct gpuspec *spec)
{
    uint64_t blocks = (uint64_t)shape->batch * head_groups(shape), sms = (uint64_t)spec->sm_count;
    uint32_t parts = 1, tiles = mla_tiles(shape);

    while (tiles > FEW_TILES && parts < MOST_PARTS && parts * 2 <= tiles &&
           (blocks * parts * 2 <= sms / 2 ||
            (blocks * parts * 2 <= sms && tiles / parts >= WORTH_FILLING)))
        parts *= 2;
    return parts;
}

static uint32_t parts_of(const struct kernel_shape *shape, const struct gpuspec *spec)
{
    if (shape->nsplit == KERNEL_POW2)
        return mla_pow2(shape, spec, head_groups(shape));
    return shape->nsplit > 0 ? shape->nsplit : default_parts(shape, spec);
}

/* Larger clusters took longer than a second kernel at every batch (kernels/README.md, entry 2). */
static int cluster_supports(const struct kernel_shape *shape, const struct gpuspec *spec)
{
    int code = hopper_supports(shape, spec);

    if (code == FAIL_OK && parts_of(shape, spec) != HOPPER_CLUSTER)
        code = fail_set(FAIL_UNSUPPORTED, "a cluster merges %d parts, not %u", (int)HOPPER_CLUSTER,
                        parts_of(shape, spec));
    return code;
}

/* One launch over nsplit parts whose sums, if not merged inside, go to memory. */
static void plan_main(struct plan_launch *launch, const char *name,
                      const struct kernel_shape *shape, const struct gpuspec *spec, uint32_t nsplit,
                      bool cluster)
{
    uint32_t groups = head_groups(shape), tiles = mla_tiles(shape);
    uint64_t scratch = cluster ? 0 : mla_scratch_bytes(shape, nsplit);
    uint64_t left_to_combine = scratch > 0 ? mla_out_bytes(shape) : 0;

    *launch = (struct plan_launch){
        .role = PLAN_MAIN,
        .name = name,
        .grid = {shape->batch, groups, nsplit},
        .block = {HOPPER_THREADS, 1, 1},
        .cluster = cluster ? nsplit : 1,
        .barriers = 3,
        .smem_dynamic_bytes = HOPPER_SMEM_BYTES,
        .unit = PLAN_TENSOR,
        .tiles = (tiles + nsplit - 1) / nsplit,
        .blocks_ahead = HOPPER_STAGES,
        .valid_entries = mla_entries(shape),
        .dram_bytes = mla_dram_bytes(shape) - left_to_combine,
        .l2_bytes = mla_l2_bytes(shape, groups) - left_to_combine + scratch,
        .scratch_bytes = scratch,
        .flops =
            (uint64_t)shape->batch * groups * HOPPER_HEADS * tiles * LAYOUT_TILE * 4 * LAYOUT_DIM,
    };
    resources_fill(launch, spec->cc_major, spec->cc_minor, HOPPER_BLOCKS_PER_SM);
}

static void mma_plan(const struct kernel_shape *shape, const struct gpuspec *spec,
                     struct plan *plan)
{
    *plan = (struct plan){.count = 1, .nsplit = 1};
    plan_main(&plan->launch[0], "smscope_mma_hopper", shape, spec, 1, false);
}

static void splitk_plan(const struct kernel_shape *shape, const struct gpuspec *spec,
                        struct plan *plan)
{
    uint32_t nsplit = parts_of(shape, spec);

    *plan = (struct plan){
        .count = nsplit > 1 ? 2 : 1,
        .nsplit = nsplit,
        .scratch_bytes = mla_scratch_bytes(shape, nsplit),
    };
    plan_main(&plan->launch[0], "smscope_split_hopper", shape, spec, nsplit, false);
    if (nsplit > 1)
        combine_plan(&plan->launch[1], shape, spec, nsplit);
}

static void cluster_plan(const struct kernel_shape *shape, const struct gpuspec *spec,
                         struct plan *plan)
{
    *plan = (struct plan){.count = 1, .nsplit = HOPPER_CLUSTER};
    plan_main(&plan->launch[0], "smscope_split_cluster", shape, spec, HOPPER_CLUSTER, true);
}

const struct kernel mma_hopper_kernel = {
    .name = "mma",
    .variant = "hopper",
    .summary = "tensor cores (wgmma), one block a row and 64 heads",
    .axes = MLA_AXES,
    .supports = hopper_supports,
    .plan = mma_plan,
    .launch = KERNEL_LAUNCH(hopper_mma_launch),
};

const struct kernel splitk_hopper_kernel = {
    .name = "splitk",
    .variant = "hopper",
    .summary = "as mma with the list cut into nsplit parts, merged by a second kernel",
    .axes = MLA_AXES | 1u << AXIS_NSPLIT,
    .supports = hopper_supports,
    .plan = splitk_plan,
    .launch = KERNEL_LAUNCH(hopper_splitk_launch),
};

const struct kernel splitk_cluster_kernel = {
    .name = "splitk",
    .variant = "cluster",
    .summary = "as mma with the list cut in two, merged by the cluster that has both parts",
    .axes = MLA_AXES | 1u << AXIS_NSPLIT,
    .supports = cluster_supports,
    .plan = cluster_plan,
    .launch = KERNEL_LAUNCH(hopper_splitk_launch),
};
