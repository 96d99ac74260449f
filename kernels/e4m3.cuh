/*
 * e4m3: fp8 codes as bf16 or fp16 pairs by moving bits, which every GPU here can do; exact.
 *
 * A code's sign, exponent and mantissa put where bf16 keeps its own read as value x 2^-120, in fp16
 * as value x 2^-8, subnormals and zeros included.  A multiplication makes up for that and applies
 * the scale.
 */
#ifndef KERNELS_E4M3_CUH
#define KERNELS_E4M3_CUH

#include "kernels/prim.cuh"

enum {
    E4M3_BF16_BIAS = 120,
    E4M3_NARROW_SCALE = 134, /* largest scale byte for which scale x 2^120 is a bf16 */
    E4M3_BF16_SHIFT = 7      /* where bf16 keeps its exponent */
};

/* Bytes 1 and 3 of a word as two bf16, x 2^-120. */
PRIM_DEVICE uint32_t e4m3_odd_bf16(uint32_t word)
{
    return (word & 0x80008000u) | ((word >> 4) & 0x07f007f0u);
}

/* Bytes 0 and 2. */
PRIM_DEVICE uint32_t e4m3_even_bf16(uint32_t word)
{
    return ((word << 8) & 0x80008000u) | ((word << 4) & 0x07f007f0u);
}

/* Bytes 1 and 3 of a word as two fp16, x 2^-8. */
PRIM_DEVICE uint32_t e4m3_odd_f16(uint32_t word)
{
    return (word & 0x80008000u) | ((word >> 1) & 0x3f803f80u);
}

PRIM_DEVICE uint32_t e4m3_even_f16(uint32_t word)
{
    return ((word << 8) & 0x80008000u) | ((word << 7) & 0x3f803f80u);
}

/*
 * Applies a scale to two bf16 made above.  WIDE: the multiplier is the scale itself; else it is
 * scale x 2^120, which only bytes up to E4M3_NARROW_SCALE allow.
 */
template <bool WIDE>
PRIM_DEVICE uint32_t e4m3_scale(uint32_t pair, uint32_t multiplier)
{
    if (WIDE)
        pair = prim_multiply_bf16x2(pair, 0x7b807b80u); /* 2^120 twice */
    return prim_multiply_bf16x2(pair, multiplier);
}

/* The multiplier of a scale byte as bf16 bits. */
PRIM_DEVICE uint32_t e4m3_multiplier(uint32_t scale, bool wide)
{
    return (wide ? scale : scale + E4M3_BF16_BIAS) << E4M3_BF16_SHIFT;
}

#endif
