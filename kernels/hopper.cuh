/*
 * hopper: a block of three warpgroups: HOPPER_HEADS heads of a row over one part of its list.
 *
 *   loaders  copy rows of the cache to shared memory (two batches ahead), turn them into
 *            bf16 and write them where the tensor cores read them, 32 tokens at a time
 *   scores   q K (half of q in registers), softmax, P; and P V for the first HOPPER_LEFT columns
 *   values   P V for the other columns
 *
 * A tile of 64 tokens is 8 slices of 64 values, each as prim_operand() says: tokens are the rows,
 * which makes it K's operand and, transposed, V's.  Inside 16 values, position 2t + i of the first
 * 8 is value 4t + 2i and of the second 8 value 4t + 2i + 1: so fall the fp8 bytes of a word when
 * they are widened, a thread of a wgmma finds its 4 values of q side by side, and has 4 adjacent
 * values of out.
 *
 * Barriers.  filled[s]: tile in stage s is written (each loading warp, each half).  drained[s]:
 * both other groups are done with it (each warp).  weighed[s]: P of that tile is written (each warp
 * of scores); that P's buffer is free follows from filled, which follows from drained.
 */
#ifndef KERNELS_HOPPER_CUH
#define KERNELS_HOPPER_CUH

#include "kernels/call.cuh"
#include "kernels/e4m3.cuh"
#include "kernels/hopper.h"
#include "kernels/prim90.cuh"
#include "kernels/walk.cuh"

#ifdef PRIM90

enum {
    HOPPER_SLICE = 64, /* values of a slice of K or q */
    HOPPER_SLICES = LAYOUT_DIM / HOPPER_SLICE,
    HOPPER_SLICE_BYTES = HOPPER_TILE * HOPPER_SLICE * 2,
    HOPPER_Q_SLICES = HOPPER_SLICES / 2, /* of q in registers; the others in shared memory */
    HOPPER_LOADERS = HOPPER_GROUP / 32,
    HOPPER_BATCH = LAYOUT_TILE / HOPPER_LOADERS, /* tokens a warp loads at once */
    HOPPER_WARPS = HOPPER_GROUP / 32,
    HOPPER_Q_STAGE = 1, /* the slices for registers pass through this stage */
    HOPPER_SCALE_BATCHES = 4
};

static_assert((int)HOPPER_SLICE == (int)LAYOUT_GROUP, "a scale a slice");
static_assert((int)HOPPER_BATCH == 8, "four lanes a token");

enum { HOPPER_SYNC_Q = 1, HOPPER_SYNC_FINISH }; /* barriers of the two consuming warpgroups */

struct hopper_smem {
    uint8_t k[HOPPER_STAGES][HOPPER_SLICES][HOPPER_SLICE_BYTES]; /* at the end: the block's sums */
    uint8_t q[HOPPER_SLICES - HOPPER_Q_SLICES][HOPPER_HEADS * HOPPER_SLICE * 2];
    uint8_t weights[HOPPER_STAGES][HOPPER_HEADS * HOPPER_TILE * 2];
    uint8_t raw[HOPPER_LOADERS][2][HOPPER_BATCH * LAYOUT_ROW_BYTES];
    uint8_t scales[HOPPER_LOADERS][HOPPER_SCALE_BATCHES][HOPPER_BATCH][LAYOUT_SCALE_BYTES];
    float rescale[HOPPER_STAGES][HOPPER_HEADS];
    float finish[HOPPER_HEADS];
    float max[HOPPER_CLUSTER][HOPPER_HEADS], sum[HOPPER_CLUSTER][HOPPER_HEADS]; /* parts' */
    uint32_t moved[HOPPER_STAGES][HOPPER_WARPS]; /* does a head of the warp have a rescale */
    uint32_t valid[HOPPER_STAGES][HOPPER_TILE / HOPPER_BATCH]; /* of token n of the batch: bit 4n */
    uint64_t filled[HOPPER_STAGES][2], drained[HOPPER_STAGES], weighed[HOPPER_STAGES];
    uint64_t arrived, queried; /* q is there; its slices for registers are read */
};
static_assert(sizeof(struct hopper_smem) <= HOPPER_SMEM_BYTES, "hopper.h tells the plan");
static_assert(sizeof(struct hopper_smem) > HOPPER_SMEM_BYTES - 1024, "hopper.h tells the plan");

/* What all threads of a block know. */
struct hopper_block {
    struct walk walk;
    uint32_t part, first_head, heads; /* heads: of the row from first_head on */
    uint64_t row_head;
};

PRIM_DEVICE uint32_t hopper_warp()
{
    return threadIdx.x / 32 % HOPPER_WARPS;
}

PRIM_DEVICE uint32_t hopper_lane()
{
    return threadIdx.x % 32;
}

/* Byte of 16-byte chunk c of a row of 128 bytes. */
PRIM_DEVICE uint32_t hopper_place(uint32_t row, uint32_t c)
{
    return row * 128 + ((c ^ (row & 7)) * 16);
}

/* --- loaders ---------------------------------------------------------------------------------- */

/*
 * A warp loads batches of HOPPER_BATCH tokens, one batch of each list tile: lanes 4n..4n+3 share
 * token n, each has 16 of every 64 values.  Rows and scales come by asynchronous copies two batches
 * ahead. Slots come for four batches at once, a lane a token; they are loaded one such quad ahead.
 */
struct hopper_feed {
    int32_t slot,
        next;       /* of token lane % 8 of batch lane / 8 of the quad that is fetched, the next */
    uint32_t valid; /* bit k: is there a token for the lane in the batch fetched k batches ago */
};

PRIM_DEVICE int32_t hopper_slot(const struct call &call, const struct walk &walk, uint32_t quad)
{
    uint32_t lane = hopper_lane();

    return walk_slot(call, walk, 4 * quad + lane / HOPPER_BATCH,
                     hopper_warp() * HOPPER_BATCH + lane % HOPPER_BATCH);
}

/* What the lane copies of batch i, the one after the last found. */
PRIM_DEVICE struct call_place hopper_find(const struct call &call, const struct walk &walk,
                                          struct hopper_feed &feed, uint32_t i)
{
    int32_t slot;

    if (i % 4 == 0) {
        feed.slot = feed.next;
        feed.next = hopper_slot(call, walk, i / 4 + 1);
    }
    slot = prim_shuffle(feed.slot, i % 4 * HOPPER_BATCH + hopper_lane() / 4);
    feed.valid = feed.valid << 1 | (slot >= 0);
    return call_find(walk_list(call, walk, i), slot);
}

/* Starts copying batch i; zeros arrive where there is no token. */
PRIM_DEVICE void hopper_fetch(struct hopper_smem &smem, const struct call_place &place, bool valid,
                              uint32_t i)
{
    uint32_t warp = hopper_warp(), lane = hopper_lane(), c = lane % 4, n = lane / 4;
    uint8_t *to = smem.raw[warp][i & 1] + n * LAYOUT_ROW_BYTES + c * 16;

#pragma unroll
    for (uint32_t k = 0; k < LAYOUT_ROW_BYTES / 64; k++)
        prim_copy16(to + k * 64, place.row + c * 16 + k * 64, valid);
    if (c == 0)
        prim_copy8(smem.scales[warp][i % HOPPER_SCALE_BATCHES][n], place.scales, valid);
}

/* Widens 16 fp8 values and writes them as chunks 2c and 2c + 1 of the token's row. */
template <bool WIDE>
PRIM_DEVICE void hopper_widen(uint8_t *first, uint8_t *second, const struct prim_quad &raw,
                              uint32_t multiplier)
{
    uint32_t even[4], odd[4];

    for (uint32_t i = 0; i < 4; i++) {
        even[i] = e4m3_scale<WIDE>(e4m3_even_bf16(raw.word[i]), multiplier);
        odd[i] = e4m3_scale<WIDE>(e4m3_odd_bf16(raw.word[i]), multiplier);
    }
    prim_store16(first, even[0], even[1], even[2], even[3]);
    prim_store16(second, odd[0], odd[1], odd[2], odd[3]);
}

/* Byte `group` of the scales as a bf16 pair of multipliers. */
template <bool WIDE>
PRIM_DEVICE uint32_t hopper_multiplier(const struct prim_pair &scales, uint32_t group)
{
    uint32_t byte = group & 3;
    uint32_t pair = prim_permute(scales.word[group >> 2], 0, 4u << 12 | byte << 8 | 4u << 4 | byte);
    uint32_t bias = WIDE ? 0 : (uint32_t)E4M3_BF16_BIAS << E4M3_BF16_SHIFT;

    return (pair << E4M3_BF16_SHIFT) + bias * 0x10001u;
}

template <bool WIDE>
PRIM_DEVICE void hopper_widen_all(uint8_t *row, uint32_t first, uint32_t second,
                                  const struct prim_quad (&raw)[LAYOUT_GROUPS],
                                  const struct prim_pair &scales)
{
#pragma unroll
    for (uint32_t group = 0; group < LAYOUT_GROUPS; group++)
        hopper_widen<WIDE>(row + group * HOPPER_SLICE_BYTES + first,
                           row + group * HOPPER_SLICE_BYTES + second, raw[group],
                           hopper_multiplier<WIDE>(scales, group));
}

/* Writes 8 bf16 values as their half of two chunks. */
PRIM_DEVICE void hopper_copy_values(uint8_t *first, uint8_t *second, const struct prim_quad &values)
{
    const uint32_t *word = values.word;

    prim_store8(first, prim_permute(word[0], word[1], 0x5410),
                prim_permute(word[2], word[3], 0x5410));
    prim_store8(second, prim_permute(word[0], word[1], 0x7632),
                prim_permute(word[2], word[3], 0x7632));
}

PRIM_DEVICE bool hopper_is_wide(const struct prim_pair &scales)
{
    uint32_t above = 0;

    for (uint32_t i = 0; i < 2; i++) { /* bytes from 135 on: bit 7 and at least 7 below it */
        uint32_t word = i == 0 ? scales.word[0] : scales.word[1] & 0x00ffffffu;
        above |= ((word & 0x7f7f7f7fu) + 0x79797979u) & word & 0x80808080u;
    }
    static_assert((int)E4M3_NARROW_SCALE == 134, "the sum above");
    return prim_any(above != 0);
}

/* A lane's raw bytes of a batch. */
struct hopper_raw {
    struct prim_quad nope[LAYOUT_GROUPS], rope[2];
    struct prim_pair scales;
};

PRIM_DEVICE void hopper_read_raw(struct hopper_raw &raw, const struct hopper_smem &smem, uint32_t i)
{
    uint32_t lane = hopper_lane(), c = lane % 4, n = lane / 4;
    const uint8_t *from = smem.raw[hopper_warp()][i & 1] + n * LAYOUT_ROW_BYTES + c * 16;

#pragma unroll
    for (uint32_t group = 0; group < LAYOUT_GROUPS; group++)
        raw.nope[group] = prim_load16(from + group * LAYOUT_GROUP);
    /* 32 bytes a lane; odd tokens take the second 16 first, which spreads a quarter warp over all
     * banks */
    from += LAYOUT_NOPE + c * 16;
    raw.rope[0] = prim_load16(from + (n & 1) * 16);
    raw.rope[1] = prim_load16(from + 16 - (n & 1) * 16);
    raw.scales = prim_load8(smem.scales[hopper_warp()][i % HOPPER_SCALE_BATCHES][n]);
}

/* Writes batch i to its place in the stage. */
PRIM_DEVICE void hopper_convert(struct hopper_smem &smem, uint32_t i, const struct hopper_raw &raw,
                                bool valid)
{
    uint32_t warp = hopper_warp(), lane = hopper_lane(), c = lane % 4, n = lane / 4;
    uint32_t stage = i / 2 % HOPPER_STAGES, batch = (i & 1) * HOPPER_LOADERS + warp;
    uint32_t first = ((2 * c) ^ n) * 16, second = ((2 * c + 1) ^ n) * 16;
    uint32_t mask = prim_ballot(valid), odd = (n & 1) * 8;
    uint8_t *row = smem.k[stage][0] + (batch * HOPPER_BATCH + n) * 128;

    if (hopper_is_wide(raw.scales))
        hopper_widen_all<true>(row, first, second, raw.nope, raw.scales);
    else
        hopper_widen_all<false>(row, first, second, raw.nope, raw.scales);
    row += LAYOUT_GROUPS * HOPPER_SLICE_BYTES;
    hopper_copy_values(row + first + odd, row + second + odd, raw.rope[0]);
    hopper_copy_values(row + first + 8 - odd, row + second + 8 - odd, raw.rope[1]);
    if (lane == 0)
        smem.valid[stage][batch] = mask;
    prim_async_fence();
    prim_sync_warp();
    if (lane == 0)
        prim_barrier_arrive(&smem.filled[stage][i & 1]);
}

PRIM_DEVICE void hopper_load(struct hopper_smem &smem, const struct call &call,
                             const struct hopper_block &block, int32_t slot)
{
    const struct walk &walk = block.walk;
    struct hopper_feed feed = {slot, slot, 0};

    for (uint32_t i = 0; i < 2; i++) {
        struct call_place place = hopper_find(call, walk, feed, i);

        if (i < walk.count)
            hopper_fetch(smem, place, (feed.valid & 1) != 0, i);
        prim_copy_commit();
    }
    for (uint32_t i = 0; i < walk.count; i++) {
        uint32_t tile = i / 2;
        struct call_place place;
        struct hopper_raw raw;

        prim_copy_wait<1>();
        prim_sync_warp();
        hopper_read_raw(raw, smem, i);
        place = hopper_find(call, walk, feed, i + 2);
        prim_sync_warp();
        if (i + 2 < walk.count)
            hopper_fetch(smem, place, (feed.valid & 1) != 0, i + 2);
        prim_copy_commit();
        if ((i & 1) == 0 && tile >= HOPPER_STAGES)
            prim_barrier_wait(&smem.drained[tile % HOPPER_STAGES], (tile / HOPPER_STAGES - 1) & 1);
        if (tile == HOPPER_Q_STAGE)
            prim_barrier_wait(&smem.queried, 0);
        hopper_convert(smem, i, raw, (feed.valid & 4) != 0);
    }
}

/* --- q ---------------------------------------------------------------------------------------- */

/* Starts copying q as it is, to the stage that the loaders fill last. */
PRIM_DEVICE void hopper_fetch_q(struct hopper_smem &smem, const struct call &call,
                                const struct hopper_block &block)
{
    uint32_t heads = block.heads < HOPPER_HEADS ? block.heads : HOPPER_HEADS;
    uint32_t bytes = heads * LAYOUT_DIM * 2;

    prim_barrier_expect(&smem.arrived, bytes);
    prim_bulk_copy(smem.k[HOPPER_Q_STAGE], call.q + block.row_head * LAYOUT_DIM, bytes,
                   &smem.arrived);
}

/* Both consuming warpgroups bring q into the order that the tile has: 16 values a thread each time.
 */
PRIM_DEVICE void hopper_order_q(struct hopper_smem &smem, const struct hopper_block &block)
{
    enum { PIECES = LAYOUT_DIM / 16, COUNT = HOPPER_HEADS * PIECES / (2 * HOPPER_GROUP) };
    uint32_t piece = threadIdx.x % PIECES, first_head = threadIdx.x / PIECES;
    uint32_t slice = piece / 4, c = piece % 4 * 2;
    struct prim_quad values[COUNT][2];
    uint8_t *to =
        slice < HOPPER_Q_SLICES ? smem.k[HOPPER_Q_STAGE][slice] : smem.q[slice - HOPPER_Q_SLICES];

    prim_barrier_wait(&smem.arrived, 0);
#pragma unroll
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t head = first_head + i * (HOPPER_HEADS / COUNT);
        const uint8_t *from = smem.k[HOPPER_Q_STAGE][0] + (head * PIECES + piece) * 32;

        values[i][0] = values[i][1] = {};
        if (head < block.heads) {
            values[i][0] = prim_load16(from);
            values[i][1] = prim_load16(from + 16);
        }
    }
    prim_sync_some(HOPPER_SYNC_Q, 2 * HOPPER_GROUP);
#pragma unroll
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t head = first_head + i * (HOPPER_HEADS / COUNT), even[4], odd[4];

#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t *pair = values[i][k / 2].word + 2 * (k & 1);

            even[k] = prim_permute(pair[0], pair[1], 0x5410);
            odd[k] = prim_permute(pair[0], pair[1], 0x7632);
        }
        prim_store16(to + hopper_place(head, c), even[0], even[1], even[2], even[3]);
        prim_store16(to + hopper_place(head, c + 1), odd[0], odd[1], odd[2], odd[3]);
    }
    prim_async_fence();
    prim_sync_some(HOPPER_SYNC_Q, 2 * HOPPER_GROUP);
}

/* The slices that stay in registers, as wgmma takes them. */
PRIM_DEVICE void hopper_read_q(uint32_t (&q)[HOPPER_Q_SLICES * 4][4], struct hopper_smem &smem)
{
    uint32_t lane = hopper_lane(), head = hopper_warp() * 16 + lane % 16;

#pragma unroll
    for (uint32_t step = 0; step < HOPPER_Q_SLICES * 4; step++)
        prim_load_matrices(q[step], smem.k[HOPPER_Q_STAGE][step / 4] +
                                        hopper_place(head, step % 4 * 2 + lane / 16));
    prim_sync_warp();
    if (lane == 0)
        prim_barrier_arrive(&smem.queried);
}

/* --- scores ----------------------------------------------------------------------------------- */

/* Starts q K of one half of a tile. */
PRIM_DEVICE void hopper_keys(float (&s)[16], const uint32_t (&q)[HOPPER_Q_SLICES * 4][4],
                             struct hopper_smem &smem, uint32_t stage, uint32_t half)
{
    uint64_t keys = prim_operand(smem.k[stage][0] + half * (HOPPER_SLICE_BYTES / 2), 16);
    uint64_t queries = prim_operand(smem.q, 16);

    prim_wgmma_begin();
#pragma unroll
    for (uint32_t slice = 0; slice < HOPPER_SLICES; slice++)
#pragma unroll
        for (uint32_t step = 0; step < 4; step++) {
            uint64_t b = prim_operand_at(keys, slice * HOPPER_SLICE_BYTES + step * 32);

            if (slice < HOPPER_Q_SLICES)
                prim_wgmma(s, q[slice * 4 + step], b, slice + step > 0);
            else
                prim_wgmma(s,
                           prim_operand_at(queries, (slice - HOPPER_Q_SLICES) * HOPPER_SLICE_BYTES +
                                                        step * 32),
                           b, true);
        }
    prim_wgmma_commit();
}

/* Maximum and sums of the thread's two heads (r and r + 8); sums are of the thread's own tokens.
 * rounded_sum is of the weights as P V takes them: dividing by it undoes what their rounding has in
 * common. */
struct hopper_softmax {
    float max[2], sum[2], rounded_sum[2];
};

/* Scores in powers of two; masked ones -inf. */
PRIM_DEVICE void hopper_mask(float (&s)[16], const struct hopper_smem &smem, uint32_t stage,
                             uint32_t half, float scale_log2)
{
    struct prim_quad valid = prim_load16(smem.valid[stage] + half * HOPPER_LOADERS);
    uint32_t t8 = 8 * (hopper_lane() & 3);

#pragma unroll
    for (uint32_t i = 0; i < 16; i++)
        s[i] = prim_multiply(s[i], scale_log2);
    if ((valid.word[0] & valid.word[1] & valid.word[2] & valid.word[3]) == 0xffffffffu)
        return;
#pragma unroll
    for (uint32_t i = 0; i < 16; i++)
        if ((valid.word[i / 4] >> (t8 + 4 * (i & 1)) & 1) == 0)
            s[i] = -prim_infinity();
}

/*
 * A tile's weights, and what the sums so far are to be multiplied with.  The maximum that weights
 * refer to moves only when it would be exceeded by more than 2^8: weights stay exact enough up to
 * there, and sums are rarely rescaled.
 */
PRIM_DEVICE void hopper_weigh(struct hopper_softmax &state, float (&rescale)[2],
                              uint32_t (&weights)[8][2], const float (&s)[2][16])
{
#pragma unroll
    for (uint32_t half = 0; half < 2; half++) {
        float max = s[0][2 * half], base, sum = 0.0f, rounded = 0.0f;

#pragma unroll
        for (uint32_t i = 0; i < 16; i++) {
            float value = s[i / 8][i % 8 / 2 * 4 + 2 * half + (i & 1)];
            max = value > max ? value : max;
        }
        for (uint32_t by = 1; by < 4; by *= 2) {
            float other = prim_shuffle_xor(max, by);
            max = other > max ? other : max;
        }
        max = max > state.max[half] + 8.0f ? max : state.max[half];
        base = max > -prim_infinity() ? max : 0.0f;
        rescale[half] = state.max[half] == max ? 1.0f : prim_exp2(state.max[half] - base);
        state.max[half] = max;
#pragma unroll
        for (uint32_t i = 0; i < 8; i++) {
            float low = prim_exp2(s[i / 4][i % 4 * 4 + 2 * half] - base);
            float high = prim_exp2(s[i / 4][i % 4 * 4 + 2 * half + 1] - base);

            sum += low + high;
            weights[i][half] = prim_pack_bf16(low, high);
            rounded += prim_as_float(weights[i][half] << 16) +
                       prim_as_float(weights[i][half] & 0xffff0000u);
        }
        state.sum[half] = state.sum[half] * rescale[half] + sum;
        state.rounded_sum[half] = state.rounded_sum[half] * rescale[half] + rounded;
    }
}

/* Hands P and the rescales to the warpgroup of the values. */
PRIM_DEVICE void hopper_publish(struct hopper_smem &smem, uint32_t stage,
                                const uint32_t (&weights)[8][2], const float (&rescale)[2])
{
    uint32_t warp = hopper_warp(), lane = hopper_lane(), g = lane / 4, t = lane & 3;
    bool moved = prim_any(rescale[0] != 1.0f || rescale[1] != 1.0f);

#pragma unroll
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t head = warp * 16 + 8 * half + g;

#pragma unroll
        for (uint32_t i = 0; i < 8; i++)
            *(uint32_t *)(smem.weights[stage] + hopper_place(head, i) + 4 * t) = weights[i][half];
        if (t == 0)
            smem.rescale[stage][head] = rescale[half];
    }
    if (lane == 0)
        smem.moved[stage][warp] = moved;
    prim_async_fence();
    prim_sync_warp();
    if (lane == 0)
        prim_barrier_arrive(&smem.weighed[stage]);
}

template <int COUNT>
PRIM_DEVICE void hopper_rescale(float (&out)[COUNT], float first, float second)
{
#pragma unroll
    for (uint32_t i = 0; i < COUNT; i++)
        out[i] *= (i & 2) == 0 ? first : second;
}

/* Starts out += P V for the left columns, of the first 16 * STEPS tokens. */
template <uint32_t STEPS>
PRIM_DEVICE void hopper_left_values(float (&out)[HOPPER_LEFT / 2], const uint32_t (&weights)[8][2],
                                    struct hopper_smem &smem, uint32_t stage)
{
    uint64_t values = prim_operand(smem.k[stage], HOPPER_SLICE_BYTES);

    prim_wgmma_begin();
#pragma unroll
    for (uint32_t step = 0; step < STEPS; step++) {
        const uint32_t a[4] = {weights[2 * step][0], weights[2 * step][1], weights[2 * step + 1][0],
                               weights[2 * step + 1][1]};

        prim_wgmma_transposed(out, a, prim_operand_at(values, step * 2048), true);
    }
    prim_wgmma_commit();
}

/* --- the end of a block ----------------------------------------------------------------------- */

/* What each head's sums are to be multiplied with, and the part's maximum and sum, or lse. */
PRIM_DEVICE void hopper_finish(struct hopper_smem &smem, const struct call &call,
                               const struct hopper_block &block, const struct hopper_softmax &state,
                               bool cluster)
{
#pragma unroll
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t head = hopper_warp() * 16 + 8 * half + hopper_lane() / 4;
        float sum = state.sum[half], rounded = state.rounded_sum[half], factor;

        for (uint32_t by = 1; by < 4; by *= 2) {
            sum += prim_shuffle_xor(sum, by);
            rounded += prim_shuffle_xor(rounded, by);
        }
        if ((hopper_lane() & 3) != 0)
            continue;
        factor = sum > 0.0f ? sum / rounded : 0.0f;
        if (cluster) {
            for (uint32_t i = 0; i < HOPPER_CLUSTER; i++) {
                prim_far_store(prim_far(&smem.max[block.part][head], i), state.max[half]);
                prim_far_store(prim_far(&smem.sum[block.part][head], i), sum);
            }
        } else if (head < block.heads && call.nsplit > 1) {
            uint64_t at = (block.row_head + head) * call.nsplit + block.part;

            call.part_max[at] = state.max[half];
            call.part_sum[at] = sum;
        } else if (head < block.heads) {
            float lse = state.max[half] + prim_log2(sum);

            call.lse[block.row_head + head] =
                sum > 0.0f ? prim_multiply(lse, CALL_LN2) : prim_infinity();
            factor =
                sum > 0.0f ? call_sink_factor(call, block.first_head + head, lse) / rounded : 0.0f;
        }
        smem.finish[head] = factor;
    }
}

/* Where the block's sums stand for its cluster: 16-byte chunk c of a head. */
PRIM_DEVICE uint8_t *hopper_sum_place(struct hopper_smem &smem, uint32_t head, uint32_t c)
{
    return smem.k[0][0] + head * (LAYOUT_DIM * 4) + ((c ^ (head & 1) * 4) * 16);
}

/* Stores COLUMNS of out from `first` on: 4 adjacent values of two heads each time. */
template <int COLUMNS>
PRIM_DEVICE void hopper_store(struct hopper_smem &smem, const struct call &call,
                              const struct hopper_block &block, const float (&out)[COLUMNS / 2],
                              uint32_t first, bool cluster)
{
    uint32_t t = hopper_lane() & 3;

#pragma unroll
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t head = hopper_warp() * 16 + 8 * half + hopper_lane() / 4;
        float by = smem.finish[head];

        if (head >= block.heads)
            continue;
#pragma unroll
        for (uint32_t m = 0; m < COLUMNS / 16; m++) {
            const float *pair = out + 8 * m + 2 * half;
            float value[4] = {pair[0] * by, pair[4] * by, pair[1] * by, pair[5] * by};
            uint32_t column = first + 16 * m + 4 * t;
            uint64_t row_head = block.row_head + head;

            if (cluster)
                prim_store16(hopper_sum_place(smem, head, column / 4), value[0], value[1], value[2],
                             value[3]);
            else if (call.nsplit > 1)
                prim_store16(call.part_acc + (row_head * call.nsplit + block.part) * LAYOUT_DIM +
                                 column,
                             value[0], value[1], value[2], value[3]);
            else
                prim_store8(call.out + row_head * LAYOUT_DIM + column,
                            prim_pack_bf16(value[0], value[1]), prim_pack_bf16(value[2], value[3]));
        }
    }
}

PRIM_DEVICE void hopper_scores(struct hopper_smem &smem, const struct call &call,
                               const struct hopper_block &block, bool cluster)
{
    uint32_t count = block.walk.count, tiles = (count + 1) / 2, lane = hopper_lane();
    struct hopper_softmax state = {{-prim_infinity(), -prim_infinity()}, {}};
    uint32_t q[HOPPER_Q_SLICES * 4][4];
    float out[HOPPER_LEFT / 2] = {};

    hopper_order_q(smem, block);
    hopper_read_q(q, smem);
    for (uint32_t i = 0; i < tiles; i++) {
        uint32_t stage = i % HOPPER_STAGES;
        uint32_t weights[8][2];
        float s[2][16], rescale[2];

        prim_barrier_wait(&smem.filled[stage][0], i / HOPPER_STAGES & 1);
        if (2 * i + 1 < count) {
            hopper_keys(s[0], q, smem, stage, 0);
            prim_barrier_wait(&smem.filled[stage][1], i / HOPPER_STAGES & 1);
            hopper_keys(s[1], q, smem, stage, 1);
            prim_wgmma_wait<0>();
        } else {
            hopper_keys(s[0], q, smem, stage, 0);
            prim_wgmma_wait<0>();
        }
        hopper_mask(s[0], smem, stage, 0, call.scale_log2);
        if (2 * i + 1 < count)
            hopper_mask(s[1], smem, stage, 1, call.scale_log2);
        else
            for (uint32_t k = 0; k < 16; k++)
                s[1][k] = -prim_infinity();
        hopper_weigh(state, rescale, weights, s);
        hopper_publish(smem, stage, weights, rescale);
        if (prim_any(rescale[0] != 1.0f || rescale[1] != 1.0f))
            hopper_rescale(out, rescale[0], rescale[1]);
        if (2 * i + 1 < count)
            hopper_left_values<4>(out, weights, smem, stage);
        else
            hopper_left_values<2>(out, weights, smem, stage);
        prim_wgmma_wait<0>();
        if (lane == 0)
            prim_barrier_arrive(&smem.drained[stage]);
    }
    if (cluster)
        prim_cluster_wait(); /* the others have begun */
    hopper_finish(smem, call, block, state, cluster);
    prim_sync_some(HOPPER_SYNC_FINISH, 2 * HOPPER_GROUP);
    if (count > 0 || call.nsplit == 1)
        hopper_store<HOPPER_LEFT>(smem, call, block, out, 0, cluster);
}

/* --- values ----------------------------------------------------------------------------------- */

template <uint32_t STEPS>
PRIM_DEVICE void hopper_right_values(float (&out)[2][HOPPER_RIGHT / 4], struct hopper_smem &smem,
                                     uint32_t stage)
{
    uint64_t weights = prim_operand(smem.weights[stage], 16);
    uint64_t values = prim_operand(smem.k[stage][HOPPER_LEFT / HOPPER_SLICE], HOPPER_SLICE_BYTES);

    prim_wgmma_begin();
#pragma unroll
    for (uint32_t step = 0; step < STEPS; step++)
#pragma unroll
        for (uint32_t half = 0; half < 2; half++) {
            uint32_t columns = half * (HOPPER_RIGHT / 2 / HOPPER_SLICE * HOPPER_SLICE_BYTES);

            prim_wgmma_transposed(out[half], prim_operand_at(weights, step * 32),
                                  prim_operand_at(values, columns + step * 2048), true);
        }
    prim_wgmma_commit();
}

PRIM_DEVICE void hopper_values(struct hopper_smem &smem, const struct call &call,
                               const struct hopper_block &block, bool cluster)
{
    uint32_t count = block.walk.count, tiles = (count + 1) / 2;
    uint32_t warp = hopper_warp(), lane = hopper_lane();
    float out[2][HOPPER_RIGHT / 4] = {};

    hopper_order_q(smem, block);
    for (uint32_t i = 0; i < tiles; i++) {
        uint32_t stage = i % HOPPER_STAGES;

        prim_barrier_wait(&smem.weighed[stage], i / HOPPER_STAGES & 1);
        if (smem.moved[stage][warp] != 0) {
            float first = smem.rescale[stage][warp * 16 + lane / 4];
            float second = smem.rescale[stage][warp * 16 + lane / 4 + 8];

            hopper_rescale(out[0], first, second);
            hopper_rescale(out[1], first, second);
        }
        if (2 * i + 1 < count)
            hopper_right_values<4>(out, smem, stage);
        else
            hopper_right_values<2>(out, smem, stage);
        prim_wgmma_wait<0>();
        if (lane == 0)
            prim_barrier_arrive(&smem.drained[stage]);
    }
    if (cluster)
        prim_cluster_wait();
    prim_sync_some(HOPPER_SYNC_FINISH, 2 * HOPPER_GROUP);
    if (count > 0 || call.nsplit == 1) {
        hopper_store<HOPPER_RIGHT / 2>(smem, call, block, out[0], HOPPER_LEFT, cluster);
        hopper_store<HOPPER_RIGHT / 2>(smem, call, block, out[1], HOPPER_LEFT + HOPPER_RIGHT / 2,
                                       cluster);
    }
}

/* --- merging in a cluster --------------------------------------------------------------------- */

/* What each part's sums of a head are to be multiplied with. */
PRIM_DEVICE void hopper_merge_weights(float (&weight)[HOPPER_CLUSTER],
                                      const struct hopper_smem &smem, const struct call &call,
                                      const struct hopper_block &block, uint32_t head)
{
    float base = -prim_infinity(), total = 0.0f, lse, finish;

    for (uint32_t part = 0; part < HOPPER_CLUSTER; part++)
        if (smem.sum[part][head] > 0.0f && smem.max[part][head] > base)
            base = smem.max[part][head];
    for (uint32_t part = 0; part < HOPPER_CLUSTER; part++) {
        bool used = smem.sum[part][head] > 0.0f;

        weight[part] = used ? prim_exp2(smem.max[part][head] - base) : 0.0f;
        total += weight[part] * smem.sum[part][head];
    }
    lse = base + prim_log2(total);
    finish = total > 0.0f ? call_sink_factor(call, block.first_head + head, lse) / total : 0.0f;
    for (uint32_t part = 0; part < HOPPER_CLUSTER; part++)
        weight[part] *= finish;
    if (hopper_lane() == 0)
        call.lse[block.row_head + head] =
            total > 0.0f ? prim_multiply(lse, CALL_LN2) : prim_infinity();
}

/* A warp merges a head. */
PRIM_DEVICE void hopper_merge_head(struct hopper_smem &smem, const struct call &call,
                                   const struct hopper_block &block, uint32_t head)
{
    enum { CHUNKS = LAYOUT_DIM / 128 }; /* 4 values a lane each time */
    uint32_t lane = hopper_lane();
    float weight[HOPPER_CLUSTER], out[CHUNKS][4] = {};

    hopper_merge_weights(weight, smem, call, block, head);
#pragma unroll
    for (uint32_t part = 0; part < HOPPER_CLUSTER; part++)
#pragma unroll
        for (uint32_t k = 0; k < CHUNKS; k++) {
            uint8_t *place = hopper_sum_place(smem, head, 32 * k + lane);
            struct prim_quad value = prim_far_load16(prim_far(place, part));

            for (uint32_t i = 0; i < 4; i++) /* a block without entries has written none */
                out[k][i] +=
                    weight[part] > 0.0f ? weight[part] * prim_as_float(value.word[i]) : 0.0f;
        }
#pragma unroll
    for (uint32_t k = 0; k < CHUNKS; k++)
        prim_store8(call.out + (block.row_head + head) * LAYOUT_DIM + 128 * k + 4 * lane,
                    prim_pack_bf16(out[k][0], out[k][1]), prim_pack_bf16(out[k][2], out[k][3]));
}

/* Each block of the cluster merges a share of the heads. */
PRIM_DEVICE void hopper_merge(struct hopper_smem &smem, const struct call &call,
                              const struct hopper_block &block)
{
    uint32_t heads = block.heads < HOPPER_HEADS ? block.heads : HOPPER_HEADS;
    uint32_t end = (block.part + 1) * heads / HOPPER_CLUSTER;

    prim_cluster_arrive();
    prim_cluster_wait();
    for (uint32_t head = block.part * heads / HOPPER_CLUSTER + threadIdx.x / 32; head < end;
         head += HOPPER_THREADS / 32)
        hopper_merge_head(smem, call, block, head);
    prim_cluster_arrive();
    prim_cluster_wait(); /* the others read this block's sums */
}

/* --- the block -------------------------------------------------------------------------------- */

PRIM_DEVICE void hopper_set_up(struct hopper_smem &smem, const struct call &call,
                               const struct hopper_block &block)
{
    if (threadIdx.x == 0) {
        for (uint32_t i = 0; i < HOPPER_STAGES; i++) {
            prim_barrier_init(&smem.filled[i][0], HOPPER_LOADERS);
            prim_barrier_init(&smem.filled[i][1], HOPPER_LOADERS);
            prim_barrier_init(&smem.drained[i], 2 * HOPPER_WARPS);
            prim_barrier_init(&smem.weighed[i], HOPPER_WARPS);
        }
        prim_barrier_init(&smem.arrived, 1);
        prim_barrier_init(&smem.queried, HOPPER_WARPS);
        prim_barrier_fence();
        hopper_fetch_q(smem, call, block);
    }
    prim_sync_block();
}

template <bool CLUSTER>
PRIM_DEVICE void hopper_block_run(const struct call &call)
{
    struct hopper_smem &smem = *(struct hopper_smem *)prim_smem();
    uint32_t number = blockIdx.x + blockIdx.y * gridDim.x, row = number / gridDim.y;
    struct hopper_block block;
    int32_t slot = -1;

    block.part = blockIdx.z;
    block.first_head = number % gridDim.y * HOPPER_HEADS;
    block.heads = call.heads - block.first_head;
    block.row_head = (uint64_t)row * call.heads + block.first_head;
    block.walk = walk_of(call, row, block.part);
    prim_grid_release();
    if (threadIdx.x >= 2 * HOPPER_GROUP) /* what the first copies of rows wait for */
        slot = hopper_slot(call, block.walk, 0);
    hopper_set_up(smem, call, block);
    if (CLUSTER)
        prim_cluster_arrive();
    if (threadIdx.x < HOPPER_GROUP) {
        prim_registers_grow<200>();
        hopper_scores(smem, call, block, CLUSTER);
    } else if (threadIdx.x < 2 * HOPPER_GROUP) {
        prim_registers_grow<224>();
        hopper_values(smem, call, block, CLUSTER);
    } else {
        prim_registers_shrink<80>();
        hopper_load(smem, call, block, slot);
        if (CLUSTER)
            prim_cluster_wait();
    }
    if (CLUSTER)
        hopper_merge(smem, call, block);
}

#endif

#endif
