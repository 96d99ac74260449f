/*
 * splitk: as mma, the list of a row cut into parts that run side by side; combine merges them.
 *
 * Default number of parts ("pow2"): the largest power of two that keeps batch x head groups x parts
 * at or under twice the SMs, at least 1, at most the number of tiles.  It looks at shapes only, so
 * that a CUDA graph's grid is stable.
 */
#ifndef KERNELS_SPLITK_H
#define KERNELS_SPLITK_H

#include "kernels/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpuspec;

extern const struct kernel splitk_kernel;

uint32_t splitk_pow2(const struct kernel_shape *shape, const struct gpuspec *spec);

int splitk_launch(const struct plan *plan, const struct kernel_args *args, void *stream);

#ifdef __cplusplus
}
#endif

#endif
