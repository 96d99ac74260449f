#include "kernels/hopper.h"

#include "kernels/combine.h"
#include "kernels/hopper.cuh"

#ifdef PRIM90
#define HOPPER_RUN(cluster) hopper_block_run<cluster>(call)
#else
#define HOPPER_RUN(cluster) (void)call /* supports() keeps it off other GPUs */
#endif

extern "C" __global__ void __launch_bounds__(HOPPER_THREADS, HOPPER_BLOCKS_PER_SM)
    smscope_mma_hopper(const __grid_constant__ struct call call)
{
    HOPPER_RUN(false);
}

extern "C" __global__ void __launch_bounds__(HOPPER_THREADS, HOPPER_BLOCKS_PER_SM)
    smscope_split_hopper(const __grid_constant__ struct call call)
{
    HOPPER_RUN(false);
}

extern "C" __global__ void __launch_bounds__(HOPPER_THREADS, HOPPER_BLOCKS_PER_SM)
    smscope_split_cluster(const __grid_constant__ struct call call)
{
    HOPPER_RUN(true);
}

int hopper_mma_launch(const struct plan *plan, const struct kernel_args *args, void *stream)
{
    struct call call = call_of(plan, args);

    return prim_launch(smscope_mma_hopper, &plan->launch[0], &call, stream);
}

int hopper_splitk_launch(const struct plan *plan, const struct kernel_args *args, void *stream)
{
    struct call call = call_of(plan, args);
    int error = 0;

    for (int i = 0; error == 0 && i < plan->count; i++) {
        const struct plan_launch *launch = &plan->launch[i];

        if (launch->role == PLAN_COMBINE)
            error = combine_launch(launch, &call, stream);
        else if (launch->cluster > 1)
            error = prim_launch(smscope_split_cluster, launch, &call, stream);
        else
            error = prim_launch(smscope_split_hopper, launch, &call, stream);
    }
    return error;
}
