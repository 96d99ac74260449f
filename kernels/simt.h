/*
 * simt: fp32 arithmetic without tensor cores, one block a row and head: the KV is read once a head.
 */
#ifndef KERNELS_SIMT_H
#define KERNELS_SIMT_H

#include "kernels/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SIMT_WARPS = 8,
    SIMT_THREADS = SIMT_WARPS * 32,
    SIMT_BLOCKS_PER_SM = 2, /* launch bounds */
    SIMT_SMEM_BYTES = 16448
};

extern const struct kernel simt_kernel;

int simt_launch(const struct plan *plan, const struct kernel_args *args, void *stream);

#ifdef __cplusplus
}
#endif

#endif
