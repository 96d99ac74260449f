#include "kernels/mla.h"

#include "base/fail.h"
#include "data/gpuspec.h"
#include "kernels/resources.h"

enum { MLA_MAX_GRID_YZ = 65535 };

static int check_cache(const char *name, uint32_t page_tokens, uint64_t stride_bytes)
{
    if (page_tokens == 0)
        return fail_set(FAIL_UNSUPPORTED, "%s pages of 0 tokens", name);
    if (stride_bytes % LAYOUT_ALIGN_BYTES != 0)
        return fail_set(FAIL_UNSUPPORTED,
                        "%s page stride of %llu bytes is not a multiple of %d (page %u)", name,
                        (unsigned long long)stride_bytes, (int)LAYOUT_ALIGN_BYTES, page_tokens);
    if (stride_bytes < layout_stride_unpadded(page_tokens))
        return fail_set(FAIL_UNSUPPORTED,
                        "%s page stride of %llu bytes is less than %u tokens x %d", name,
                        (unsigned long long)stride_bytes, page_tokens, (int)LAYOUT_TOKEN_BYTES);
    return FAIL_OK;
}

static int check_caches(const struct kernel_shape *shape)
{
    int code = FAIL_OK;

    if (shape->topk == 0 && shape->extra_topk == 0)
        return fail_set(FAIL_UNSUPPORTED, "both index lists have width 0");
    if (shape->topk > 0)
        code = check_cache("main", shape->page_tokens, shape->page_stride_bytes);
    if (code == FAIL_OK && shape->extra_topk > 0)
        code = check_cache("extra", shape->extra_page_tokens, shape->extra_page_stride_bytes);
    return code;
}

int mla_supports(const struct kernel_shape *shape, const struct gpuspec *spec, uint32_t smem_bytes)
{
    if (spec->cc_major < 8)
        return fail_set(FAIL_UNSUPPORTED, "compute capability %d.%d is below 8.0", spec->cc_major,
                        spec->cc_minor);
    if (smem_bytes > (uint32_t)spec->smem_per_block_optin_bytes)
        return fail_set(FAIL_UNSUPPORTED, "a block needs %u bytes of shared memory, the GPU has %d",
                        smem_bytes, spec->smem_per_block_optin_bytes);
    if (shape->heads < 1 || shape->heads > LAYOUT_MAX_HEADS)
        return fail_set(FAIL_UNSUPPORTED, "%u heads, not 1 to %d", shape->heads,
                        (int)LAYOUT_MAX_HEADS);
    if (shape->batch < 1 || shape->batch > MLA_MAX_GRID_YZ)
        return fail_set(FAIL_UNSUPPORTED, "batch %u, not 1 to %d", shape->batch,
                        (int)MLA_MAX_GRID_YZ);
    if (shape->nsplit > MLA_MAX_GRID_YZ && shape->nsplit != KERNEL_POW2)
        return fail_set(FAIL_UNSUPPORTED, "%u parts, not 1 to %d", shape->nsplit,
                        (int)MLA_MAX_GRID_YZ);
    return check_caches(shape);
}

uint32_t mla_tiles(const struct kernel_shape *shape)
{
    return shape->topk / LAYOUT_TILE + (shape->topk % LAYOUT_TILE != 0) +
           shape->extra_topk / LAYOUT_TILE + (shape->extra_topk % LAYOUT_TILE != 0);
}

uint32_t mla_head_groups(const struct kernel_shape *shape)
{
    return (shape->heads + MLA_HEADS - 1) / MLA_HEADS;
}

uint32_t mla_pow2(const struct kernel_shape *shape, const struct gpuspec *spec, uint32_t groups)
{
    uint64_t blocks = (uint64_t)shape->batch * groups;
    uint32_t parts = 1;

    while (blocks * parts * 2 <= 2 * (uint64_t)spec->sm_count && parts * 2 <= mla_tiles(shape))
        parts *= 2;
    return parts;
}

uint64_t mla_entries(const struct kernel_shape *shape)
{
    return (uint64_t)shape->batch * ((uint64_t)shape->topk + shape->extra_topk);
}

uint64_t mla_out_bytes(const struct kernel_shape *shape)
{
    return (uint64_t)shape->batch * shape->heads * (LAYOUT_DIM * sizeof(uint16_t) + sizeof(float));
}

/* q, out and lse. */
static uint64_t head_bytes(const struct kernel_shape *shape)
{
    return (uint64_t)shape->batch * shape->heads * LAYOUT_DIM * sizeof(uint16_t) +
           mla_out_bytes(shape);
}

uint64_t mla_dram_bytes(const struct kernel_shape *shape)
{
    return mla_entries(shape) * (LAYOUT_TOKEN_BYTES + sizeof(int32_t)) + head_bytes(shape);
}

uint64_t mla_l2_bytes(const struct kernel_shape *shape, uint32_t readers)
{
    return mla_entries(shape) * (LAYOUT_TOKEN_BYTES + sizeof(int32_t)) * readers +
           head_bytes(shape);
}

uint64_t mla_scratch_bytes(const struct kernel_shape *shape, uint32_t nsplit)
{
    if (nsplit == 1)
        return 0;
    return (uint64_t)shape->batch * shape->heads * nsplit * (LAYOUT_DIM + 2) * sizeof(float);
}

void mla_plan(struct plan_launch *launch, const char *name, const struct kernel_shape *shape,
              const struct gpuspec *spec, uint32_t nsplit)
{
    uint32_t groups = mla_head_groups(shape), tiles = mla_tiles(shape);
    uint64_t left_to_combine = nsplit > 1 ? mla_out_bytes(shape) : 0;

    *launch = (struct plan_launch){
        .role = PLAN_MAIN,
        .name = name,
        .grid = {shape->batch, groups, nsplit},
        .block = {MLA_THREADS, 1, 1},
        .smem_dynamic_bytes = MLA_SMEM_BYTES,
        .unit = PLAN_TENSOR,
        .tiles = (tiles + nsplit - 1) / nsplit,
        .blocks_ahead = MLA_STAGES - 1,
        .valid_entries = mla_entries(shape),
        .dram_bytes = mla_dram_bytes(shape) - left_to_combine,
        .l2_bytes =
            mla_l2_bytes(shape, groups) - left_to_combine + mla_scratch_bytes(shape, nsplit),
        .scratch_bytes = mla_scratch_bytes(shape, nsplit),
        .flops = (uint64_t)shape->batch * groups * MLA_HEADS * tiles * LAYOUT_TILE * 4 * LAYOUT_DIM,
    };
    resources_fill(launch, spec->cc_major, spec->cc_minor, MLA_BLOCKS_PER_SM);
}
