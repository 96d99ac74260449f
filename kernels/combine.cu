#include "kernels/combine.h"

#include <string.h>

#include "kernels/call.cuh"

enum { COMBINE_IN_FLIGHT = 16 }; /* loads of a thread */

struct combine_total {
    float max, sum;
};

/* Maximum and sum over all parts, in every lane; empty parts have sum 0. */
PRIM_DEVICE struct combine_total combine_sum(const float *max, const float *sum, uint32_t parts,
                                             uint32_t lane)
{
    struct combine_total total = {-prim_infinity(), 0.0f};

    for (uint32_t part = lane; part < parts; part += 32)
        if (sum[part] > 0.0f && max[part] > total.max)
            total.max = max[part];
    for (uint32_t by = 1; by < 32; by *= 2) {
        float other = prim_shuffle_xor(total.max, by);
        total.max = other > total.max ? other : total.max;
    }
    for (uint32_t part = lane; part < parts; part += 32)
        if (sum[part] > 0.0f)
            total.sum += sum[part] * prim_exp2(max[part] - total.max);
    for (uint32_t by = 1; by < 32; by *= 2)
        total.sum += prim_shuffle_xor(total.sum, by);
    return total;
}

/*
 * Adds CHUNKS x 128 columns of up to 32 parts; lane i holds part i's weight, 0 where there is
 * nothing to read.
 */
template <uint32_t CHUNKS>
PRIM_DEVICE void combine_add(float (&out)[CHUNKS][4], const float *acc, float weight,
                             uint32_t parts)
{
    enum { AT_ONCE = COMBINE_IN_FLIGHT / CHUNKS };

    for (uint32_t first = 0; first < parts; first += AT_ONCE) {
        struct prim_quad values[AT_ONCE][CHUNKS];
        float by[AT_ONCE];

        for (uint32_t i = 0; i < AT_ONCE; i++) {
            by[i] = prim_shuffle(weight, (first + i) & 31); /* lanes beyond the parts hold 0 */
            for (uint32_t k = 0; k < CHUNKS; k++) {
                values[i][k] = {};
                if (by[i] > 0.0f)
                    values[i][k] = prim_load16(acc + (first + i) * LAYOUT_DIM + 128 * k);
            }
        }
        for (uint32_t i = 0; i < AT_ONCE; i++)
            for (uint32_t k = 0; k < CHUNKS; k++)
                for (uint32_t j = 0; j < 4; j++)
                    out[k][j] += by[i] * prim_as_float(values[i][k].word[j]);
    }
}

/* A warp merges CHUNKS x 128 columns of a row and head. */
template <uint32_t CHUNKS>
PRIM_DEVICE void combine_block(const struct call &call)
{
    enum { PIECES = LAYOUT_DIM / (128 * CHUNKS) };
    uint32_t lane = threadIdx.x & 31;
    uint64_t piece = (uint64_t)blockIdx.x * COMBINE_WARPS + threadIdx.x / 32;
    uint64_t row_head = piece / PIECES, first = row_head * call.nsplit;
    uint32_t column = (uint32_t)(piece % PIECES) * 128 * CHUNKS + lane * 4;
    const float *max = call.part_max + first, *sum = call.part_sum + first;
    float out[CHUNKS][4] = {}, lse, factor;
    struct combine_total total;

    if (row_head >= call.row_heads)
        return;
    prim_grid_wait();
    total = combine_sum(max, sum, call.nsplit, lane);
    lse = total.max + prim_log2(total.sum);
    factor = total.sum > 0.0f
                 ? call_sink_factor(call, (uint32_t)(row_head % call.heads), lse) / total.sum
                 : 0.0f;
    for (uint32_t part = 0; part < call.nsplit; part += 32) {
        uint32_t own = part + lane, left = call.nsplit - part;
        bool used = own < call.nsplit && sum[own] > 0.0f;
        float weight = used ? prim_exp2(max[own] - total.max) : 0.0f;

        combine_add<CHUNKS>(out, call.part_acc + (first + part) * LAYOUT_DIM + column, weight,
                            left < 32 ? left : 32);
    }
    for (uint32_t k = 0; k < CHUNKS; k++)
        prim_store8(call.out + row_head * LAYOUT_DIM + column + 128 * k,
                    prim_pack_bf16(out[k][0] * factor, out[k][1] * factor),
                    prim_pack_bf16(out[k][2] * factor, out[k][3] * factor));
    if (column == 0)
        call.lse[row_head] = total.sum > 0.0f ? prim_multiply(lse, CALL_LN2) : prim_infinity();
}

extern "C" __global__ void __launch_bounds__(COMBINE_THREADS, COMBINE_BLOCKS_PER_SM)
    smscope_combine(const __grid_constant__ struct call call)
{
    combine_block<COMBINE_CHUNKS>(call);
}

extern "C" __global__ void __launch_bounds__(COMBINE_THREADS, COMBINE_BLOCKS_PER_SM)
    smscope_combine_few(const __grid_constant__ struct call call)
{
    combine_block<1>(call);
}

int combine_launch(const struct plan_launch *launch, const struct call *call, void *stream)
{
    bool few = strcmp(launch->name, COMBINE_FEW) == 0;

    return prim_launch(few ? smscope_combine_few : smscope_combine, launch, call, stream);
}
