#include "kernels/synth_token.h"

#include <string.h>

#include "kernels/synth.h"

static uint32_t to_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float from_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t synth_token_bf16(float value)
{
    uint32_t bits = to_bits(value);

    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Nearest even, saturating at 448.  Below 2^-6 the steps are 2^-9: what is left of them beside
 * 2^14. */
static uint8_t to_e4m3(float value)
{
    uint32_t bits = to_bits(value), magnitude = bits & 0x7fffffff, code;

    if (magnitude >= to_bits(448))
        code = 0x7e;
    else if (magnitude < to_bits(0x1p-6f))
        code = to_bits(from_bits(magnitude) + 0x1p14f) - to_bits(0x1p14f);
    else
        code = ((magnitude + 0x7ffff + (magnitude >> 20 & 1)) >> 20) - ((127 - 7) << 3);
    return (uint8_t)((bits >> 24 & 0x80) | code);
}

/* The bit trick: the exponent, one more if there is any mantissa. */
static uint8_t to_e8m0(float scale)
{
    uint32_t bits = to_bits(scale);

    return (uint8_t)((bits >> 23) + ((bits & 0x7fffff) != 0));
}

void synth_quantise(const float *values, uint8_t *row, uint8_t *scales)
{
    for (int group = 0; group < LAYOUT_GROUPS; group++) {
        const float *from = values + group * LAYOUT_GROUP;
        uint8_t *to = row + group * LAYOUT_GROUP;
        uint32_t amax = to_bits(1e-4f);
        float inverse;

        for (int i = 0; i < LAYOUT_GROUP; i++) {
            uint32_t magnitude = to_bits(from[i]) & 0x7fffffff;

            amax = magnitude > amax ? magnitude : amax;
        }
        scales[group] = to_e8m0(from_bits(amax) / 448);
        inverse = from_bits((254u - scales[group]) << 23);
        for (int i = 0; i < LAYOUT_GROUP; i++)
            to[i] = to_e4m3(from[i] * inverse);
    }
    scales[LAYOUT_GROUPS] = 0xff;
    for (int i = 0; i < LAYOUT_ROPE; i++) {
        uint16_t bits = synth_token_bf16(values[LAYOUT_NOPE + i]);

        row[LAYOUT_NOPE + 2 * i] = (uint8_t)bits;
        row[LAYOUT_NOPE + 2 * i + 1] = (uint8_t)(bits >> 8);
    }
}

static void draw_soft(struct rng *rng, float *values)
{
    static const float sizes[] = {0.25f, 0.5f, 1, 2};

    for (int group = 0; group < LAYOUT_DIM / LAYOUT_GROUP; group++) {
        float size = sizes[rng_below(rng, 4)];

        for (int i = 0; i < LAYOUT_GROUP; i++)
            values[group * LAYOUT_GROUP + i] = size * rng_normal(rng);
    }
}

void synth_token_soft(struct synth_draw *draw, uint8_t *row, uint8_t *scales)
{
    float values[LAYOUT_DIM];

    draw_soft(&draw->rng, values);
    synth_quantise(values, row, scales);
}

void synth_token_peaked(struct synth_draw *draw, uint8_t *row, uint8_t *scales)
{
    float values[LAYOUT_DIM];

    for (int i = 0; i < LAYOUT_DIM; i++)
        values[i] = 5 * rng_normal(&draw->rng);
    synth_quantise(values, row, scales);
}

void synth_token_steep(struct synth_draw *draw, uint8_t *row, uint8_t *scales)
{
    float values[LAYOUT_DIM];

    draw_soft(&draw->rng, values);
    for (int i = 0; i < LAYOUT_DIM; i++)
        values[i] += draw->level * draw->direction[i];
    synth_quantise(values, row, scales);
}

/*
 * Groups count through the scale bytes and, independently, through four quarters of the codes: any
 * 236 groups in a row, 34 tokens, hold every code with every scale byte.
 */
static void draw_hard_group(struct rng *rng, uint32_t group, uint8_t *codes, uint8_t *scale)
{
    enum { SCALES = 150 - 92 + 1, FINITE = 254, HALF = FINITE / 2 };
    uint32_t quarter = group / SCALES % 4, turn = rng_below(rng, LAYOUT_GROUP);

    *scale = (uint8_t)(92 + group % SCALES);
    for (uint32_t i = 0; i < LAYOUT_GROUP; i++) {
        uint32_t number = (quarter * LAYOUT_GROUP + i) % FINITE;

        codes[(i + turn) % LAYOUT_GROUP] = (uint8_t)(number < HALF ? number : 0x80 + number - HALF);
    }
}

void synth_token_hard(struct synth_draw *draw, uint8_t *row, uint8_t *scales)
{
    enum { SUBNORMAL = 8, EXPONENTS = 148 }; /* so many of the 64 for sure; up to 2^21 */

    for (uint32_t i = 0; i < LAYOUT_GROUPS; i++)
        draw_hard_group(&draw->rng, draw->group + i, row + i * LAYOUT_GROUP, &scales[i]);
    for (uint32_t i = 0; i < LAYOUT_ROPE; i++) {
        uint64_t random = rng_next(&draw->rng);
        uint64_t exponent = i % SUBNORMAL == 0 ? 0 : (random >> 32) % EXPONENTS;
        uint64_t bits = (random & 0x807f) | exponent << 7;

        row[LAYOUT_NOPE + 2 * i] = (uint8_t)bits;
        row[LAYOUT_NOPE + 2 * i + 1] = (uint8_t)(bits >> 8);
    }
}

void synth_token_query(struct rng *rng, uint16_t *q)
{
    for (int i = 0; i < LAYOUT_DIM; i++)
        q[i] = synth_token_bf16(rng_normal(rng));
}

void synth_token_steep_query(struct rng *rng, const float *direction, float side, uint16_t *q)
{
    for (int i = 0; i < LAYOUT_DIM; i++) {
        float value = rng_normal(rng);

        q[i] = synth_token_bf16((value < 0 ? -value : value) * side * direction[i]);
    }
}
