/*
 * A warp takes four entries at a time, a lane 16 of their 512 values: lanes 0 to 27 sixteen fp8
 * bytes of one scale group, lanes 28 to 31 the rope.  Each warp keeps its own maximum, sum and 512
 * sums; shared memory merges the warps at the end.
 */
#include "kernels/simt.h"

#include "kernels/call.cuh"
#include "kernels/e4m3.cuh"

enum {
    SIMT_AT_ONCE = 4, /* entries */
    SIMT_OWN = LAYOUT_DIM / 32,
    SIMT_ROPE_LANE = LAYOUT_NOPE / SIMT_OWN,
    SIMT_ROUND = SIMT_WARPS * 32 /* entries whose indices the block holds */
};

struct simt_smem {
    float max[SIMT_WARPS], sum[SIMT_WARPS];
    float acc[SIMT_WARPS][LAYOUT_DIM];
};
static_assert(sizeof(struct simt_smem) == SIMT_SMEM_BYTES, "simt.h tells the plan");

struct simt_state {
    float max, sum;
    float acc[SIMT_OWN]; /* of fp8 values: x 2^-8 */
};

/* A token as a lane sees it: its 16 values (fp8 ones x 2^-8) and their scale. */
struct simt_token {
    float value[SIMT_OWN];
    float scale;
};

PRIM_DEVICE void simt_unpack_nope(float (&value)[SIMT_OWN], const struct prim_quad &raw)
{
    for (uint32_t i = 0; i < 4; i++) {
        prim_unpack_f16(e4m3_even_f16(raw.word[i]), &value[4 * i], &value[4 * i + 2]);
        prim_unpack_f16(e4m3_odd_f16(raw.word[i]), &value[4 * i + 1], &value[4 * i + 3]);
    }
}

PRIM_DEVICE void simt_unpack_bf16(float *value, const struct prim_quad &raw)
{
    for (uint32_t i = 0; i < 4; i++) {
        value[2 * i] = prim_as_float(raw.word[i] << 16);
        value[2 * i + 1] = prim_as_float(raw.word[i] & 0xffff0000u);
    }
}

PRIM_DEVICE void simt_read(struct simt_token &token, const uint8_t *row, struct prim_pair scales,
                           bool valid, uint32_t lane)
{
    bool rope = lane >= SIMT_ROPE_LANE;
    const uint8_t *from = row + SIMT_OWN * lane + (rope ? SIMT_OWN * (lane - SIMT_ROPE_LANE) : 0);
    struct prim_quad first = {}, second = {};

    if (valid)
        first = prim_load16(from);
    if (valid && rope)
        second = prim_load16(from + 16);
    if (rope) {
        simt_unpack_bf16(token.value, first);
        simt_unpack_bf16(token.value + 8, second);
        token.scale = 1.0f;
    } else {
        uint32_t word = lane >= 16 ? scales.word[1] : scales.word[0];
        uint32_t byte = word >> (8 * (lane >> 2 & 3)) & 0xff;

        simt_unpack_nope(token.value, first);
        token.scale = prim_as_float(byte << 23);
    }
}

PRIM_DEVICE float simt_dot(const float (&q)[SIMT_OWN], const struct simt_token &token, float bias)
{
    float sum[2] = {};

    for (uint32_t i = 0; i < SIMT_OWN; i++)
        sum[i & 1] += q[i] * token.value[i];
    sum[0] = (sum[0] + sum[1]) * token.scale * bias;
    for (uint32_t by = 1; by < 32; by *= 2)
        sum[0] += prim_shuffle_xor(sum[0], by);
    return sum[0];
}

/* Online softmax over four tokens, at least one of which counts; score: in powers of two, -inf for
 * the others. */
PRIM_DEVICE void simt_add(struct simt_state &state, const struct simt_token (&token)[SIMT_AT_ONCE],
                          const float (&score)[SIMT_AT_ONCE])
{
    float max = state.max;

    for (uint32_t i = 0; i < SIMT_AT_ONCE; i++)
        max = score[i] > max ? score[i] : max;
    if (max > state.max) {
        float rescale = prim_exp2(state.max - max);

        state.max = max;
        state.sum *= rescale;
        for (uint32_t j = 0; j < SIMT_OWN; j++)
            state.acc[j] *= rescale;
    }
    for (uint32_t i = 0; i < SIMT_AT_ONCE; i++) {
        float weight = prim_exp2(score[i] - max), scaled = weight * token[i].scale;

        state.sum += weight;
        for (uint32_t j = 0; j < SIMT_OWN; j++)
            state.acc[j] += scaled * token[i].value[j];
    }
}

/* The warp's share of a list. */
PRIM_DEVICE void simt_walk(struct simt_state &state, const float (&q)[SIMT_OWN],
                           const struct call_list &list, uint32_t row, float scale_log2,
                           uint32_t warp, uint32_t lane)
{
    uint32_t length = call_length(list, row);
    float bias = lane >= SIMT_ROPE_LANE ? 1.0f : 256.0f;

    for (uint32_t first = 0; first < length; first += SIMT_ROUND) {
        uint32_t entry =
            first + (lane / SIMT_AT_ONCE * SIMT_WARPS + warp) * SIMT_AT_ONCE + lane % SIMT_AT_ONCE;
        int32_t slot = entry < length ? list.index[(uint64_t)row * list.topk + entry] : -1;
        uint32_t mask = prim_ballot(slot >= 0);
        struct call_place place = call_find(list, slot);
        struct prim_pair scales = {};

        if (slot >= 0)
            scales = prim_load8(place.scales);
        for (uint32_t from = 0; from < 32; from += SIMT_AT_ONCE) {
            struct simt_token token[SIMT_AT_ONCE];
            float score[SIMT_AT_ONCE];

            if ((mask >> from & ((1u << SIMT_AT_ONCE) - 1)) == 0)
                continue;
            for (uint32_t i = 0; i < SIMT_AT_ONCE; i++) {
                unsigned long long at =
                    prim_shuffle((unsigned long long)(uintptr_t)place.row, from + i);
                struct prim_pair own = {{prim_shuffle(scales.word[0], from + i),
                                         prim_shuffle(scales.word[1], from + i)}};

                simt_read(token[i], (const uint8_t *)(uintptr_t)at, own,
                          (mask >> (from + i) & 1) != 0, lane);
            }
            for (uint32_t i = 0; i < SIMT_AT_ONCE; i++) {
                float dot = simt_dot(q, token[i], bias);
                bool valid = (mask >> (from + i) & 1) != 0;

                score[i] = valid ? prim_multiply(dot, scale_log2) : -prim_infinity();
            }
            simt_add(state, token, score);
        }
    }
}

/* Adds up the warps' states: two columns a thread. */
PRIM_DEVICE void simt_merge(const struct simt_smem &smem, const struct call &call, uint32_t row,
                            uint32_t head)
{
    uint64_t row_head = (uint64_t)row * call.heads + head;
    uint32_t column = 2 * threadIdx.x;
    float max = -prim_infinity(), sum = 0.0f, out[2] = {}, lse, factor;

    for (uint32_t w = 0; w < SIMT_WARPS; w++)
        max = smem.max[w] > max ? smem.max[w] : max;
    for (uint32_t w = 0; w < SIMT_WARPS; w++) {
        float weight = smem.sum[w] > 0.0f ? prim_exp2(smem.max[w] - max) : 0.0f;

        sum += weight * smem.sum[w];
        out[0] += weight * smem.acc[w][column];
        out[1] += weight * smem.acc[w][column + 1];
    }
    lse = max + prim_log2(sum);
    factor = sum > 0.0f ? call_sink_factor(call, head, lse) / sum : 0.0f;
    *(uint32_t *)(call.out + row_head * LAYOUT_DIM + column) =
        prim_pack_bf16(out[0] * factor, out[1] * factor);
    if (column == 0)
        call.lse[row_head] = sum > 0.0f ? prim_multiply(lse, CALL_LN2) : prim_infinity();
}

extern "C" __global__ void __launch_bounds__(SIMT_THREADS, SIMT_BLOCKS_PER_SM)
    smscope_simt(const __grid_constant__ struct call call)
{
    struct simt_smem &smem = *(struct simt_smem *)prim_smem();
    uint32_t head = blockIdx.x, row = blockIdx.y;
    uint32_t warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const uint16_t *own =
        call.q + ((uint64_t)row * call.heads + head) * LAYOUT_DIM + SIMT_OWN * lane;
    float bias = lane >= SIMT_ROPE_LANE ? 1.0f : 256.0f;
    struct simt_state state = {-prim_infinity(), 0.0f, {}};
    float q[SIMT_OWN];

    simt_unpack_bf16(q, prim_load16(own));
    simt_unpack_bf16(q + 8, prim_load16(own + 8));
    for (uint32_t which = 0; which < 2; which++) {
        struct call_list list = which == 0 ? call.main : call.extra;

        simt_walk(state, q, list, row, call.scale_log2, warp, lane);
    }
    for (uint32_t j = 0; j < SIMT_OWN; j += 4)
        prim_store16(&smem.acc[warp][SIMT_OWN * lane + j], state.acc[j] * bias,
                     state.acc[j + 1] * bias, state.acc[j + 2] * bias, state.acc[j + 3] * bias);
    if (lane == 0) {
        smem.max[warp] = state.max;
        smem.sum[warp] = state.sum;
    }
    prim_sync_block();
    simt_merge(smem, call, row, head);
}

int simt_launch(const struct plan *plan, const struct kernel_args *args, void *stream)
{
    struct call call = call_of(plan, args);

    return prim_launch(smscope_simt, &plan->launch[0], &call, stream);
}
