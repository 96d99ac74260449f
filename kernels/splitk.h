/*
 * splitk: as mma, the list of a row cut into parts that run side by side; combine merges them.
 *
 * Default number of parts: KERNEL_POW2.  It looks at shapes only, so that a CUDA graph's grid is
 * stable.
 */
#ifndef KERNELS_SPLITK_H
#define KERNELS_SPLITK_H

#include "kernels/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct kernel splitk_kernel;

int splitk_launch(const struct plan *plan, const struct kernel_args *args, void *stream);

#ifdef __cplusplus
}
#endif

#endif
