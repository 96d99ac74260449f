#include "kernels/mma.h"

#include "kernels/mla.cuh"

extern "C" __global__ void __launch_bounds__(MLA_THREADS, MLA_BLOCKS_PER_SM)
    smscope_mma(const __grid_constant__ struct call call)
{
    mla_block(call);
}

int mma_launch(const struct plan *plan, const struct kernel_args *args, void *stream)
{
    struct call call = call_of(plan, args);

    return prim_launch(smscope_mma, &plan->launch[0], &call, stream);
}
