/*
 * mma: tensor cores, one block a row and group of heads, the KV read once a group.
 */
#ifndef KERNELS_MMA_H
#define KERNELS_MMA_H

#include "kernels/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct kernel mma_kernel;

int mma_launch(const struct plan *plan, const struct kernel_args *args, void *stream);

#ifdef __cplusplus
}
#endif

#endif
