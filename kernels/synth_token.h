/*
 * synth_token: how single tokens and queries of synth's kinds are drawn.
 */
#ifndef KERNELS_SYNTH_TOKEN_H
#define KERNELS_SYNTH_TOKEN_H

#include <stdint.h>

#include "kernels/layout.h"
#include "kernels/rng.h"

/* What a token is drawn from. */
struct synth_draw {
    struct rng rng;
    const float *direction; /* steep: [512] of +-1 */
    float level;            /* steep: how far along it */
    uint32_t group;         /* hard: number of its first group of 64 among those of the data set */
};

/* Each writes one token: row 576 bytes, scales 8 bytes. */
void synth_token_soft(struct synth_draw *draw, uint8_t *row, uint8_t *scales);
void synth_token_peaked(struct synth_draw *draw, uint8_t *row, uint8_t *scales);
void synth_token_steep(struct synth_draw *draw, uint8_t *row, uint8_t *scales);
void synth_token_hard(struct synth_draw *draw, uint8_t *row, uint8_t *scales);

/* 512 values of bf16 N(0,1). */
void synth_token_query(struct rng *rng, uint16_t *q);
/* The same with the signs of direction x side, both +-1. */
void synth_token_steep_query(struct rng *rng, const float *direction, float side, uint16_t *q);

uint16_t synth_token_bf16(float value); /* to nearest even; finite values */

#endif
