/*
 * mla: the tensor-core block: MLA_HEADS heads of a row over one part of its list, the KV read once.
 *
 * Warp w owns values [64w, 64w + 64) of every token: it alone copies these bytes to shared memory,
 * turns them into bf16 and uses them, as keys and as values; 64 fp8 values share a scale, and warp
 * 7 has the rope.  So only scores cross warps:
 *
 *   keys     a warp multiplies its slices of q (registers) and K: partial scores [32][32]
 *   softmax  warp w adds the eight partial scores of 4 heads, updates maximum and sums, writes P
 *   values   a warp adds P x its slice of V to out[32][64]
 *
 * A turn of the loop does keys(i), barrier, softmax(i) beside values(i - 1), barrier, while tiles
 * i + 1 and i + 2 arrive.
 *
 * The order of a tile's tokens, and of the values in a slice, is chosen so that a thread's bytes
 * are adjacent.  With g = lane / 4, t = lane % 4: column c of score block n is token 8(c/2) + 2n +
 * c%2, so that P's fragment in thread t are tokens 8t..8t+7; column c of value block j is value 8c
 * + j of the slice, so that thread t ends with values 16t..16t+15.
 */
#ifndef KERNELS_MLA_CUH
#define KERNELS_MLA_CUH

#include "kernels/call.cuh"
#include "kernels/e4m3.cuh"
#include "kernels/mla.h"
#include "kernels/walk.cuh"

enum {
    MLA_SLICE = LAYOUT_DIM / MLA_WARPS,
    MLA_ROPE_WARP = LAYOUT_GROUPS,
    MLA_NOPE_SLICE_BYTES = LAYOUT_TILE * LAYOUT_GROUP
};

static_assert((int)MLA_SLICE == (int)LAYOUT_GROUP && (int)MLA_SLICE == (int)LAYOUT_ROPE,
              "a warp, a scale group");
static_assert((int)MLA_HEADS == 32 && (int)LAYOUT_TILE == 32, "the fragments below");

/* How a slice's bytes become bf16. */
enum mla_kind { MLA_NOPE, MLA_NOPE_WIDE, MLA_ROPE };

struct mla_smem {
    float scores[MLA_WARPS][8][32][4]; /* partial, as mma leaves them: [warp][4m + n][lane] */
    uint32_t weights[2][2][2][32][4];  /* P as mma takes it: [turn][m][step][lane] */
    uint8_t raw[MLA_STAGES][LAYOUT_TILE * LAYOUT_ROW_BYTES]; /* [slice][token], swizzled */
    uint8_t scales[MLA_STAGES][LAYOUT_TILE][LAYOUT_SCALE_BYTES];
    uint16_t multipliers[2][MLA_WARPS][LAYOUT_TILE]; /* of the warp's slice, bf16 */
    float rescale[2][MLA_HEADS];
    float finish[MLA_HEADS];
};
static_assert(sizeof(struct mla_smem) <= MLA_SMEM_BYTES, "mla.h tells the plan");
static_assert(sizeof(struct mla_smem) > MLA_SMEM_BYTES - 256, "mla.h tells the plan");

/* Maximum and sums of two heads (r and r + 8) as the softmax threads keep them; sums are of the
 * thread's own columns. */
struct mla_softmax {
    float max[2], sum[2], rounded_sum[2];
};

PRIM_DEVICE uint32_t mla_token(uint32_t n, uint32_t column)
{
    return 8 * (column >> 1) + 2 * n + (column & 1);
}

/* Where 16-byte chunk c of a token stands in its slice: no two lanes of an access meet in a bank.
 */
PRIM_DEVICE uint32_t mla_nope_place(uint32_t token, uint32_t c)
{
    return (token >> 1) * 128 + ((((token & 1) * 4 + c) ^ (2 * (token >> 3))) * 16);
}

PRIM_DEVICE uint32_t mla_rope_place(uint32_t token, uint32_t c)
{
    return token * 128 + ((c ^ ((token & 1) + 2 * (token >> 3))) * 16);
}

/* Starts copying the warp's slice of tile i; returns which of its tokens count. */
PRIM_DEVICE uint32_t mla_fetch(struct mla_smem &smem, const struct call &call,
                               const struct walk &walk, uint32_t i, int32_t slot, uint32_t warp,
                               uint32_t lane)
{
    uint32_t mask = prim_ballot(slot >= 0);
    uint32_t g = lane >> 2, t = lane & 3;
    uint8_t *slice = smem.raw[i % MLA_STAGES] + warp * MLA_NOPE_SLICE_BYTES;
    struct call_list list;
    struct call_place place;

    if (i >= walk.count)
        return 0;
    list = i >= walk.main_count ? call.extra : call.main;
    place = call_find(list, slot);
    if (warp == MLA_ROPE_WARP)
        prim_copy8(smem.scales[i % MLA_STAGES][lane], place.scales, slot >= 0);
    for (uint32_t n = 0; n < 4; n++) {
        uint32_t token = mla_token(n, g);
        const uint8_t *row =
            (const uint8_t *)prim_shuffle((unsigned long long)(uintptr_t)place.row, token);
        bool valid = (mask >> token & 1) != 0;

        if (warp == MLA_ROPE_WARP) {
            row += LAYOUT_NOPE + 16 * t;
            prim_copy16(slice + mla_rope_place(token, t), row, valid);
            prim_copy16(slice + mla_rope_place(token, t + 4), row + 64, valid);
        } else {
            row += warp * LAYOUT_GROUP + 16 * t;
            prim_copy16(slice + mla_nope_place(token, t), row, valid);
        }
    }
    return mask;
}

/* The warp's slice of q as fragments; heads past the last one are zero. */
PRIM_DEVICE void mla_read_q(uint32_t (&q)[2][4][4], const struct call &call, uint32_t row,
                            uint32_t first_head, uint32_t warp, uint32_t lane)
{
    uint32_t g = lane >> 2, t = lane & 3;

    for (uint32_t m = 0; m < 2; m++)
        for (uint32_t half = 0; half < 2; half++) {
            uint32_t head = first_head + 16 * m + 8 * half + g;
            struct prim_quad values[2] = {};

            if (head < call.heads) {
                const uint16_t *from = call.q + ((uint64_t)row * call.heads + head) * LAYOUT_DIM +
                                       warp * MLA_SLICE + 16 * t;
                values[0] = prim_load16(from);
                values[1] = prim_load16(from + 8);
            }
            for (uint32_t step = 0; step < 4; step++) {
                uint32_t low = values[step >> 1].word[2 * (step & 1)];
                uint32_t high = values[step >> 1].word[2 * (step & 1) + 1];

                if (warp == MLA_ROPE_WARP) {
                    q[m][step][half] = low;
                    q[m][step][2 + half] = high;
                } else { /* fp8 values come as pairs of every second byte */
                    q[m][step][half] = prim_permute(low, high, 0x5410);
                    q[m][step][2 + half] = prim_permute(low, high, 0x7632);
                }
            }
        }
}

/* Partial scores of a tile from the warp's slice. */
template <enum mla_kind KIND>
PRIM_DEVICE void mla_keys(float (&scores)[2][4][4], const uint32_t (&q)[2][4][4],
                          const uint8_t *slice, const uint16_t *multipliers, uint32_t lane)
{
    uint32_t g = lane >> 2, t = lane & 3;

    for (uint32_t n = 0; n < 4; n++) {
        uint32_t token = mla_token(n, g);
        uint32_t k[4][2];

        if (KIND == MLA_ROPE) {
            for (uint32_t half = 0; half < 2; half++) {
                struct prim_quad raw = prim_load16(slice + mla_rope_place(token, 2 * t + half));
                for (uint32_t i = 0; i < 4; i++)
                    k[2 * half + (i >> 1)][i & 1] = raw.word[i];
            }
        } else {
            struct prim_quad raw = prim_load16(slice + mla_nope_place(token, t));
            uint32_t multiplier = multipliers[token] * 0x10001u;
            for (uint32_t step = 0; step < 4; step++) {
                k[step][0] =
                    e4m3_scale<KIND == MLA_NOPE_WIDE>(e4m3_even_bf16(raw.word[step]), multiplier);
                k[step][1] =
                    e4m3_scale<KIND == MLA_NOPE_WIDE>(e4m3_odd_bf16(raw.word[step]), multiplier);
            }
        }
        for (uint32_t m = 0; m < 2; m++) {
            for (uint32_t i = 0; i < 4; i++)
                scores[m][n][i] = 0.0f;
            for (uint32_t step = 0; step < 4; step++)
                prim_mma(scores[m][n], q[m][step], k[step]);
        }
    }
}

/* out += P x the warp's slice of a tile. */
template <enum mla_kind KIND>
PRIM_DEVICE void mla_values(float (&out)[2][8][4], const uint32_t (&weights)[2][2][32][4],
                            const uint8_t *slice, const uint16_t *multipliers, uint32_t lane)
{
    uint32_t g = lane >> 2, t = lane & 3;

    for (uint32_t step = 0; step < 2; step++) {
        uint32_t first = 8 * t + 4 * step; /* the thread's 4 tokens of this step */
        struct prim_quad p[2];
        uint32_t raw[4][4];
        struct prim_pair multiplier = {};

        for (uint32_t m = 0; m < 2; m++)
            p[m] = prim_load16(weights[m][step][lane]);
        for (uint32_t i = 0; i < 4; i++)
            if (KIND == MLA_ROPE) {
                struct prim_quad all = prim_load16(slice + mla_rope_place(first + i, g));
                for (uint32_t j = 0; j < 4; j++)
                    raw[i][j] = all.word[j];
            } else {
                struct prim_pair all =
                    prim_load8(slice + mla_nope_place(first + i, g >> 1) + 8 * (g & 1));
                raw[i][0] = all.word[0];
                raw[i][1] = all.word[1];
            }
        if (KIND != MLA_ROPE)
            multiplier = prim_load8(multipliers + first);
        for (uint32_t j = 0; j < 8; j++) {
            uint32_t v[2];

            for (uint32_t i = 0; i < 2; i++)
                if (KIND == MLA_ROPE) {
                    v[i] = prim_permute(raw[2 * i][j >> 1], raw[2 * i + 1][j >> 1],
                                        (j & 1) != 0 ? 0x7632 : 0x5410);
                } else {
                    uint32_t pair = prim_permute(raw[2 * i][j >> 2], raw[2 * i + 1][j >> 2],
                                                 (4 + (j & 3)) << 12 | (j & 3) << 4);
                    v[i] =
                        e4m3_scale<KIND == MLA_NOPE_WIDE>(e4m3_odd_bf16(pair), multiplier.word[i]);
                }
            for (uint32_t m = 0; m < 2; m++)
                prim_mma(out[m][j], p[m].word, v);
        }
    }
}

/* out *= the change of maximum that the softmax of that turn found; most turns have none. */
PRIM_DEVICE void mla_rescale(float (&out)[2][8][4], const float (&rescale)[MLA_HEADS],
                             uint32_t lane)
{
    float by[2][2];
    bool changed = false;

    for (uint32_t m = 0; m < 2; m++)
        for (uint32_t half = 0; half < 2; half++) {
            by[m][half] = rescale[16 * m + 8 * half + (lane >> 2)];
            changed |= by[m][half] != 1.0f;
        }
    if (!prim_any(changed))
        return;
    for (uint32_t m = 0; m < 2; m++)
        for (uint32_t j = 0; j < 8; j++)
            for (uint32_t i = 0; i < 4; i++)
                out[m][j][i] *= by[m][i >> 1];
}

/* The softmax role of a thread: 2 columns of score block n, rows head and head + 8 of the 16 heads
 * m. */
struct mla_role {
    uint32_t m, n, from; /* from: whose fragment it takes, lane of the mma */
    uint32_t head;       /* of the group */
    uint32_t token;      /* of the first column; the second is the next */
};

PRIM_DEVICE struct mla_role mla_role_of(uint32_t warp, uint32_t lane)
{
    uint32_t g = 2 * (warp & 3) + (lane >> 2 & 1), t = lane & 3;
    struct mla_role role;

    role.m = warp >> 2;
    role.n = lane >> 3;
    role.from = 4 * g + t;
    role.head = 16 * role.m + g;
    role.token = mla_token(role.n, 2 * t);
    return role;
}

/* The thread's four scores, in powers of two; masked ones -inf. */
PRIM_DEVICE void mla_gather(float (&s)[2][2], const struct mla_smem &smem,
                            const struct mla_role &role, uint32_t mask, float scale_log2)
{
    float sum[4] = {};

    for (uint32_t w = 0; w < MLA_WARPS; w++) {
        struct prim_quad part = prim_load16(smem.scores[w][4 * role.m + role.n][role.from]);
        for (uint32_t i = 0; i < 4; i++)
            sum[i] += prim_as_float(part.word[i]);
    }
    for (uint32_t i = 0; i < 4; i++) {
        bool valid = (mask >> (role.token + (i & 1)) & 1) != 0;
        s[i >> 1][i & 1] = valid ? prim_multiply(sum[i], scale_log2) : -prim_infinity();
    }
}

/*
 * One tile's softmax.  The maximum that weights refer to moves only when it would be exceeded by
 * more than 2^8: weights stay exact enough up to there, and out is rarely rescaled.
 */
PRIM_DEVICE void mla_weigh(struct mla_smem &smem, struct mla_softmax &state, const float (&s)[2][2],
                           const struct mla_role &role, uint32_t turn, uint32_t lane)
{
    uint32_t packed[2];

    for (uint32_t half = 0; half < 2; half++) {
        float max = s[half][0] > s[half][1] ? s[half][0] : s[half][1];
        float base, rescale, p[2];

        for (uint32_t by = 1; by < 32; by *= 2)
            if (by != 4) { /* lanes that differ in bit 2 have other heads */
                float other = prim_shuffle_xor(max, by);
                max = other > max ? other : max;
            }
        max = max > state.max[half] + 8.0f ? max : state.max[half];
        base = max > -prim_infinity() ? max : 0.0f;
        rescale = state.max[half] == max ? 1.0f : prim_exp2(state.max[half] - base);
        p[0] = prim_exp2(s[half][0] - base);
        p[1] = prim_exp2(s[half][1] - base);
        packed[half] = prim_pack_bf16(p[0], p[1]);
        state.max[half] = max;
        state.sum[half] = state.sum[half] * rescale + (p[0] + p[1]);
        state.rounded_sum[half] =
            state.rounded_sum[half] * rescale +
            (prim_as_float(packed[half] << 16) + prim_as_float(packed[half] & 0xffff0000u));
        if (role.n == 0 && (lane & 3) == 0)
            smem.rescale[turn & 1][role.head + 8 * half] = rescale;
    }
    prim_store8(&smem.weights[turn & 1][role.m][role.n >> 1][role.from][2 * (role.n & 1)],
                packed[0], packed[1]);
}

/* What each head's sums are to be multiplied with, and the part's maximum and sum, or lse. */
PRIM_DEVICE void mla_finish(struct mla_smem &smem, const struct call &call,
                            struct mla_softmax &state, const struct mla_role &role,
                            uint64_t row_head, uint32_t heads_left, uint32_t part, uint32_t lane)
{
    for (uint32_t half = 0; half < 2; half++) {
        uint32_t head = role.head + 8 * half;
        float sum = state.sum[half], rounded = state.rounded_sum[half], factor = 0.0f;

        for (uint32_t by = 1; by < 32; by *= 2)
            if (by != 4) {
                sum += prim_shuffle_xor(sum, by);
                rounded += prim_shuffle_xor(rounded, by);
            }
        if (role.n != 0 || (lane & 3) != 0 || head >= heads_left)
            continue;
        if (call.nsplit > 1) {
            uint64_t at = (row_head + head) * call.nsplit + part;

            call.part_max[at] = state.max[half];
            call.part_sum[at] = sum;
            factor = sum > 0.0f ? sum / rounded : 0.0f;
        } else {
            float lse = state.max[half] + prim_log2(sum);

            call.lse[row_head + head] = sum > 0.0f ? prim_multiply(lse, CALL_LN2) : prim_infinity();
            if (sum > 0.0f)
                factor =
                    call_sink_factor(call, (uint32_t)(row_head % call.heads) + head, lse) / rounded;
        }
        smem.finish[head] = factor;
    }
}

/* out or the part's sums: a thread has 16 adjacent values of 4 heads. */
PRIM_DEVICE void mla_store(const struct call &call, const float (&out)[2][8][4],
                           const float (&finish)[MLA_HEADS], uint64_t row_head, uint32_t heads_left,
                           uint32_t part, uint32_t warp, uint32_t lane)
{
    uint32_t column = warp * MLA_SLICE + 16 * (lane & 3);

    for (uint32_t m = 0; m < 2; m++)
        for (uint32_t half = 0; half < 2; half++) {
            uint32_t head = 16 * m + 8 * half + (lane >> 2);
            float value[16], by;

            if (head >= heads_left)
                continue;
            by = finish[head];
            for (uint32_t i = 0; i < 16; i++)
                value[i] = out[m][i & 7][2 * half + (i >> 3)] * by;
            if (call.nsplit > 1) {
                float *to =
                    call.part_acc + ((row_head + head) * call.nsplit + part) * LAYOUT_DIM + column;
                for (uint32_t i = 0; i < 16; i += 4)
                    prim_store16(to + i, value[i], value[i + 1], value[i + 2], value[i + 3]);
            } else {
                uint16_t *to = call.out + (row_head + head) * LAYOUT_DIM + column;
                for (uint32_t i = 0; i < 16; i += 8)
                    prim_store16(to + i, prim_pack_bf16(value[i], value[i + 1]),
                                 prim_pack_bf16(value[i + 2], value[i + 3]),
                                 prim_pack_bf16(value[i + 4], value[i + 5]),
                                 prim_pack_bf16(value[i + 6], value[i + 7]));
            }
        }
}

/* Writes the multipliers of the warp's slice; tells how they are to be used. */
PRIM_DEVICE enum mla_kind mla_prepare(struct mla_smem &smem, uint32_t i, uint32_t warp,
                                      uint32_t lane)
{
    uint32_t scale;
    bool wide;

    if (warp == MLA_ROPE_WARP)
        return MLA_ROPE;
    scale = smem.scales[i % MLA_STAGES][lane][warp];
    wide = prim_any(scale > E4M3_NARROW_SCALE);
    smem.multipliers[i & 1][warp][lane] = (uint16_t)e4m3_multiplier(scale, wide);
    prim_sync_warp();
    return wide ? MLA_NOPE_WIDE : MLA_NOPE;
}

PRIM_DEVICE void mla_turn_keys(struct mla_smem &smem, const uint32_t (&q)[2][4][4], uint32_t i,
                               enum mla_kind kind, uint32_t warp, uint32_t lane)
{
    const uint8_t *slice = smem.raw[i % MLA_STAGES] + warp * MLA_NOPE_SLICE_BYTES;
    const uint16_t *multipliers = smem.multipliers[i & 1][warp];
    float scores[2][4][4];

    if (kind == MLA_NOPE)
        mla_keys<MLA_NOPE>(scores, q, slice, multipliers, lane);
    else if (kind == MLA_ROPE)
        mla_keys<MLA_ROPE>(scores, q, slice, multipliers, lane);
    else
        mla_keys<MLA_NOPE_WIDE>(scores, q, slice, multipliers, lane);
    for (uint32_t m = 0; m < 2; m++)
        for (uint32_t n = 0; n < 4; n++)
            prim_store16(smem.scores[warp][4 * m + n][lane], scores[m][n][0], scores[m][n][1],
                         scores[m][n][2], scores[m][n][3]);
}

PRIM_DEVICE void mla_turn_values(struct mla_smem &smem, float (&out)[2][8][4], uint32_t i,
                                 enum mla_kind kind, uint32_t warp, uint32_t lane)
{
    const uint8_t *slice = smem.raw[i % MLA_STAGES] + warp * MLA_NOPE_SLICE_BYTES;
    const uint16_t *multipliers = smem.multipliers[i & 1][warp];

    mla_rescale(out, smem.rescale[i & 1], lane);
    if (kind == MLA_NOPE)
        mla_values<MLA_NOPE>(out, smem.weights[i & 1], slice, multipliers, lane);
    else if (kind == MLA_ROPE)
        mla_values<MLA_ROPE>(out, smem.weights[i & 1], slice, multipliers, lane);
    else
        mla_values<MLA_NOPE_WIDE>(out, smem.weights[i & 1], slice, multipliers, lane);
}

/* The whole block.  Blocks of one row's head groups are neighbours, so that the second one finds
 * the KV in L2. */
PRIM_DEVICE void mla_block(const struct call &call)
{
    struct mla_smem &smem = *(struct mla_smem *)prim_smem();
    uint32_t warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    uint32_t block = blockIdx.x + blockIdx.y * gridDim.x, part = blockIdx.z;
    uint32_t row = block / gridDim.y, first_head = block % gridDim.y * MLA_HEADS;
    uint64_t row_head = (uint64_t)row * call.heads + first_head;
    struct walk walk = walk_of(call, row, part);
    struct mla_role role = mla_role_of(warp, lane);
    struct mla_softmax state = {{-prim_infinity(), -prim_infinity()}, {}, {}};
    enum mla_kind kind = MLA_NOPE, kind_before = MLA_NOPE;
    int32_t slot = walk_slot(call, walk, 0, lane), slot_next = walk_slot(call, walk, 1, lane);
    uint32_t mask = mla_fetch(smem, call, walk, 0, slot, warp, lane), mask_next, mask_after;
    uint32_t q[2][4][4];
    float out[2][8][4] = {};

    prim_copy_commit();
    mask_next = mla_fetch(smem, call, walk, 1, slot_next, warp, lane);
    prim_copy_commit();
    slot = walk_slot(call, walk, 2, lane);
    mla_read_q(q, call, row, first_head, warp, lane);
    prim_copy_wait<1>();
    prim_sync_block();
    for (uint32_t i = 0; i < walk.count; i++) {
        float s[2][2];

        kind = mla_prepare(smem, i, warp, lane);
        mla_turn_keys(smem, q, i, kind, warp, lane);
        prim_sync_block();
        mla_gather(s, smem, role, mask, call.scale_log2);
        if (i > 0)
            mla_turn_values(smem, out, i - 1, kind_before, warp, lane);
        mla_weigh(smem, state, s, role, i, lane);
        prim_sync_warp(); /* the slice of tile i - 1 is read */
        slot_next = walk_slot(call, walk, i + 3, lane);
        mask_after = mla_fetch(smem, call, walk, i + 2, slot, warp, lane);
        prim_copy_commit();
        prim_copy_wait<1>();
        prim_sync_block();
        slot = slot_next;
        mask = mask_next;
        mask_next = mask_after;
        kind_before = kind;
    }
    if (walk.count > 0)
        mla_turn_values(smem, out, walk.count - 1, kind, warp, lane);
    mla_finish(smem, call, state, role, row_head, call.heads - first_head, part, lane);
    prim_sync_block();
    if (walk.count > 0 || call.nsplit == 1)
        mla_store(call, out, smem.finish, row_head, call.heads - first_head, part, warp, lane);
}

#endif
