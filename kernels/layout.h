/*
 * layout: bytes of the paged FP8 latent cache, shared by C and CUDA.
 *
 * For a page of P tokens, token r (FlashMLA's "MODEL1" fp8 layout, as SGLang, vLLM and FlashInfer
 * write it): [r*576,       +448)  448 x fp8 e4m3: the part without positions ("nope") [r*576 + 448,
 * +128)   64 x bf16:     the rotary part ("rope"), little endian [P*576 + r*8,   +7)    7 x UE8M0:
 * scale i covers nope[64*i .. 64*i+63]; value 2^(byte - 127) [P*576 + r*8 + 7]      1 pad byte,
 * never interpreted [P*584, stride)        padding.  padded stride: ceil(P*584 / 576) * 576;
 * unpadded: P*584. The 512 values of a token are its key and its value at once.
 */
#ifndef KERNELS_LAYOUT_H
#define KERNELS_LAYOUT_H

#include <assert.h>
#include <stdint.h>

enum {
    LAYOUT_DIM = 512, /* values of a token: nope then rope */
    LAYOUT_NOPE = 448,
    LAYOUT_ROPE = 64,
    LAYOUT_GROUP = 64, /* nope values a scale covers */
    LAYOUT_GROUPS = 7,
    LAYOUT_SCALE_BYTES = 8, /* 7 scales and a pad byte */
    LAYOUT_ROW_BYTES = 576, /* nope and rope of a token */
    LAYOUT_TOKEN_BYTES = 584,
    LAYOUT_ALIGN_BYTES = 16, /* what pool addresses and page strides must be a multiple of */
    LAYOUT_TILE = 32,        /* list entries a block of a kernel works on at once */
    LAYOUT_MAX_HEADS = 128
};

static_assert((int)LAYOUT_NOPE + (int)LAYOUT_ROPE == (int)LAYOUT_DIM, "512 values a token");
static_assert((int)LAYOUT_GROUP * (int)LAYOUT_GROUPS == (int)LAYOUT_NOPE, "7 scales cover nope");
static_assert((int)LAYOUT_NOPE + 2 * (int)LAYOUT_ROPE == (int)LAYOUT_ROW_BYTES,
              "a row is nope bytes and rope bf16");
static_assert((int)LAYOUT_ROW_BYTES + (int)LAYOUT_SCALE_BYTES == (int)LAYOUT_TOKEN_BYTES,
              "a token is a row and its scales");
static_assert((int)LAYOUT_ROW_BYTES % (int)LAYOUT_ALIGN_BYTES == 0,
              "rows keep the alignment of their page");

static inline uint64_t layout_stride_padded(uint32_t page_tokens)
{
    uint64_t used = (uint64_t)page_tokens * LAYOUT_TOKEN_BYTES;
    return (used + LAYOUT_ROW_BYTES - 1) / LAYOUT_ROW_BYTES * LAYOUT_ROW_BYTES;
}

static inline uint64_t layout_stride_unpadded(uint32_t page_tokens)
{
    return (uint64_t)page_tokens * LAYOUT_TOKEN_BYTES;
}

#endif
