/*
 * combine: merges the parts of split-K by log-sum-exp.
 */
#ifndef KERNELS_COMBINE_H
#define KERNELS_COMBINE_H

#include "kernels/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

struct call;
struct plan_launch;

/* A block merges COMBINE_COLUMNS of a row and head, four of them a thread; all parts' loads are
 * independent. */
enum { COMBINE_THREADS = 64, COMBINE_COLUMNS = COMBINE_THREADS * 4, COMBINE_BLOCKS_PER_SM = 16 };

/* From combine.cu, for splitk.cu. */
int combine_launch(const struct plan_launch *launch, const struct call *call, void *stream);

#ifdef __cplusplus
}
#endif

#endif
