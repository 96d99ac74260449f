#include "kernels/splitk.h"

#include "kernels/combine.h"
#include "kernels/mla.cuh"

extern "C" __global__ void __launch_bounds__(MLA_THREADS, MLA_BLOCKS_PER_SM)
    smscope_split(const __grid_constant__ struct call call)
{
    prim_grid_release();
    mla_block(call);
}

int splitk_launch(const struct plan *plan, const struct kernel_args *args, void *stream)
{
    struct call call = call_of(plan, args);
    int error = 0;

    for (int i = 0; error == 0 && i < plan->count; i++) {
        const struct plan_launch *launch = &plan->launch[i];

        error = launch->role == PLAN_COMBINE ? combine_launch(launch, &call, stream)
                                             : prim_launch(smscope_split, launch, &call, stream);
    }
    return error;
}
