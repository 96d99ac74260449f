/*
 * mla: what the plans of simt, mma and split-K share, and the sizes of their device code.
 *
 * A block of the tensor-core kernels works on MLA_HEADS heads of a row and walks the tiles of its
 * part of the list, LAYOUT_TILE entries each: first the main list's ceil(topk / 32) tiles, then the
 * extra list's.  Part i of N holds tiles [i*T/N, (i+1)*T/N).
 */
#ifndef KERNELS_MLA_H
#define KERNELS_MLA_H

#include <stdbool.h>
#include <stdint.h>

#include "data/plan.h"
#include "kernels/kernel.h"
#include "kernels/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuspec;

enum {
    MLA_HEADS = 32, /* of a block */
    MLA_WARPS = 8,  /* warp w: values [64w, 64w + 64) of every token, the last one the rope */
    MLA_THREADS = MLA_WARPS * 32,
    MLA_BLOCKS_PER_SM = 1, /* launch bounds */
    MLA_STAGES = 3,        /* tiles of raw bytes held: one read twice, two arriving */
    MLA_SMEM_BYTES = 94336
};

/* Axes a kernel reads that does not split; of data/axis.h. */
#define MLA_AXES (((1u << AXIS_COUNT) - 1) & ~(1u << AXIS_NSPLIT))

/* Shapes no kernel here can do, and dynamic shared memory beyond the GPU's. */
int mla_supports(const struct kernel_shape *shape, const struct gpuspec *spec, uint32_t smem_bytes);

uint32_t mla_tiles(const struct kernel_shape *shape);
uint32_t mla_head_groups(const struct kernel_shape *shape);
/* KERNEL_POW2 as a number, when a row is `groups` blocks. */
uint32_t mla_pow2(const struct kernel_shape *shape, const struct gpuspec *spec, uint32_t groups);
uint64_t mla_entries(const struct kernel_shape *shape); /* batch x (topk + extra_topk) */

/* Every entry once, indices, q, out and lse; and the same with entries and indices read `readers`
 * times. */
uint64_t mla_dram_bytes(const struct kernel_shape *shape);
uint64_t mla_l2_bytes(const struct kernel_shape *shape, uint32_t readers);
uint64_t mla_out_bytes(const struct kernel_shape *shape); /* out and lse alone */

/* Sums, maximum and sum of weights of every part, row and head; 0 for one part. */
uint64_t mla_scratch_bytes(const struct kernel_shape *shape, uint32_t nsplit);

/* One launch of the tensor-core kernel over nsplit parts; name: its device function. */
void mla_plan(struct plan_launch *launch, const char *name, const struct kernel_shape *shape,
              const struct gpuspec *spec, uint32_t nsplit);

#ifdef __cplusplus
}
#endif

#endif
