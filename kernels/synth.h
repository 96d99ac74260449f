/*
 * synth: seeded test data for a decode call, in host memory.
 *
 * Kinds.  q is N(0,1) in bf16 for all of them.
 *   soft    K ~ N(0,1) x 2^u, u an integer in -2..1 for each token and group of 64.
 *   peaked  K ~ 5 N(0,1): scores of standard deviation about 5.
 *   steep   Scores up to about +-240: a kernel that does not subtract the maximum overflows or
 * loses the row.  The elements of q have the signs of one direction of the data set in every other
 * head, the opposite ones in the rest; K is 7, 9, 11 and 13 times that direction in turn plus soft
 * noise.  The scores move by 36 three times along a row's list, up for one half of the heads, down
 * for the other. hard    Bytes: the 254 finite e4m3 codes x scale bytes 92..150, rope with
 * subnormals, one entry a row, so that out must be the dequantised row bit for bit (+0 may stand
 * for -0). soft, peaked and steep are quantised by the scale rule of the serving frameworks: amax
 * floor 1e-4, scale = 2^ceil(log2(amax / 448)) by the exponent-bit trick, round to nearest even,
 * saturating. Unreferenced slots, pad bytes and page padding hold 0xFF (NaN) bytes.
 *
 * In rows of at most SYNTH_FEW entries q is drawn again until the best score is not a near
 * cancellation of its 512 terms: there the rounding of any fp32 sum exceeds the gate on lse,
 * whatever the kernel.
 */
#ifndef KERNELS_SYNTH_H
#define KERNELS_SYNTH_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/kernel.h"

enum { SYNTH_FEW = 8 };

enum synth_kind { SYNTH_SOFT, SYNTH_PEAKED, SYNTH_STEEP, SYNTH_HARD };

/* How lengths are drawn. */
enum synth_length {
    SYNTH_FULL,  /* no length array */
    SYNTH_MIXED, /* most far below topk, as in real traffic; from 3 rows on 0, 1 and topk occur */
    SYNTH_FIXED  /* every row the same */
};

/* How indices are drawn. */
enum synth_index {
    SYNTH_DISTINCT,     /* distinct slots */
    SYNTH_HOLES,        /* about a third of the entries negative, -1 and others, anywhere */
    SYNTH_REPEATS,      /* slots drawn with repeats */
    SYNTH_FIRST_MASKED, /* the first 64 entries -1, slots after */
    SYNTH_ALL_MASKED    /* negative values only */
};

/*
 * SYNTH_SINK: normal around the logarithm of the list width, as strong as soft data's entries
 * together (steep: as the lowest scores of a head); heads 3, 11, ... +inf, heads 5, 13, ... -inf.
 */
enum synth_sink { SYNTH_NO_SINK, SYNTH_SINK };

/*
 * One call.  The last slot of the last page is referenced whenever a list has a valid entry.
 * Entries past a length hold garbage: slots of NaN bytes, INT32_MAX and the like.
 */
struct synth_spec {
    enum synth_kind kind;
    uint64_t seed;
    uint32_t heads, batch, topk, extra_topk;
    uint32_t page_tokens, extra_page_tokens;
    bool padded; /* page stride, both caches */
    enum synth_index index, extra_index;
    enum synth_length length, extra_length;
    int32_t fixed_length, extra_fixed_length; /* SYNTH_FIXED; as it is, also < 0 or > topk */
    uint32_t tokens_per_sequence; /* rows that follow each other and share a length; 0: one */
    enum synth_sink sink;
};

/* A call's host data; `args` points into memory owned here, out and lse are NULL. */
struct synth {
    struct kernel_args args;
    struct kernel_shape shape; /* nsplit 0 */
    uint64_t pool_bytes, extra_pool_bytes;
    void *memory;
};

/* FAIL_ENV when host memory does not suffice. */
int synth_make(struct synth *synth, const struct synth_spec *spec);
void synth_free(struct synth *synth);

const char *synth_kind_name(enum synth_kind kind);

/*
 * Fills pages of a pool with `soft` tokens whose K has rms about 1 (every slot valid), for
 * benchmarks; page i holds the same bytes for the same seed whatever the count.  pages x stride
 * bytes are written; threads are used.
 */
void synth_fill_pages(uint8_t *pool, uint32_t pages, uint32_t page_tokens, uint64_t stride_bytes,
                      uint64_t seed);
/* bf16 N(0,1). */
void synth_fill_q(uint16_t *q, uint64_t count, uint64_t seed);
/* A permutation of 0..count-1. */
void synth_permutation(int32_t *slots, uint32_t count, uint64_t seed);
/* Lengths as SYNTH_MIXED draws them: log-normal-like, most far below topk, some 0, 1 and topk. */
void synth_mixed_lengths(int32_t *lengths, uint32_t count, uint32_t topk, uint64_t seed);

/* A token written by the quantiser: 512 floats into row (576 bytes) and scales (8 bytes, the pad
 * byte 0xFF). */
void synth_quantise(const float *values, uint8_t *row, uint8_t *scales);

#endif
