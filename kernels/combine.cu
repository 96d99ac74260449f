#include "kernels/combine.h"

#include "kernels/call.cuh"

enum { COMBINE_AT_ONCE = 8 }; /* parts whose loads a thread has in flight */

static_assert((int)COMBINE_COLUMNS * 2 == (int)LAYOUT_DIM, "the plan's grid");

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

/* Four columns of up to 32 parts; lane i holds part i's weight, 0 where there is nothing to read.
 */
PRIM_DEVICE void combine_add(float (&out)[4], const float *acc, float weight, uint32_t parts)
{
    for (uint32_t first = 0; first < parts; first += COMBINE_AT_ONCE) {
        struct prim_quad values[COMBINE_AT_ONCE];
        float by[COMBINE_AT_ONCE];

        for (uint32_t i = 0; i < COMBINE_AT_ONCE; i++) {
            by[i] = prim_shuffle(weight, first + i);
            values[i] = {};
            if (by[i] > 0.0f)
                values[i] = prim_load16(acc + (uint64_t)(first + i) * LAYOUT_DIM);
        }
        for (uint32_t i = 0; i < COMBINE_AT_ONCE; i++)
            for (uint32_t j = 0; j < 4; j++)
                out[j] += by[i] * prim_as_float(values[i].word[j]);
    }
}

extern "C" __global__ void __launch_bounds__(COMBINE_THREADS, COMBINE_BLOCKS_PER_SM)
    smscope_combine(const __grid_constant__ struct call call)
{
    uint32_t head = blockIdx.x, lane = threadIdx.x & 31;
    uint64_t row_head = (uint64_t)blockIdx.y * call.heads + head;
    uint64_t first = row_head * call.nsplit;
    uint32_t column = blockIdx.z * COMBINE_COLUMNS + threadIdx.x * 4;
    const float *max = call.part_max + first, *sum = call.part_sum + first;
    struct combine_total total = combine_sum(max, sum, call.nsplit, lane);
    float lse = total.max + prim_log2(total.sum);
    float factor = total.sum > 0.0f ? call_sink_factor(call, head, lse) / total.sum : 0.0f;
    float out[4] = {};

    for (uint32_t part = 0; part < call.nsplit; part += 32) {
        uint32_t own = part + lane, left = call.nsplit - part;
        bool used = own < call.nsplit && sum[own] > 0.0f;
        float weight = used ? prim_exp2(max[own] - total.max) : 0.0f;

        combine_add(out, call.part_acc + (first + part) * LAYOUT_DIM + column, weight,
                    left < 32 ? left : 32);
    }
    prim_store8(call.out + row_head * LAYOUT_DIM + column,
                prim_pack_bf16(out[0] * factor, out[1] * factor),
                prim_pack_bf16(out[2] * factor, out[3] * factor));
    if (column == 0)
        call.lse[row_head] = total.sum > 0.0f ? prim_multiply(lse, CALL_LN2) : prim_infinity();
}

int combine_launch(const struct plan_launch *launch, const struct call *call, void *stream)
{
    return prim_launch(smscope_combine, launch, call, stream);
}
