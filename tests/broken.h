/*
 * broken: a split kernel imitated in plain C, whole or with one of the faults that such kernels
 * have.
 *
 * It rounds like one: fp32 scores and sums, weights rounded to bf16 before they meet the values,
 * tiles of 32 entries (the main list's, then the extra list's), part i of N over tiles [i*T/N,
 * (i+1)*T/N), partial results merged by log-sum-exp.
 */
#ifndef TESTS_BROKEN_H
#define TESTS_BROKEN_H

#include <stdint.h>

#include "kernels/kernel.h"

enum broken {
    BROKEN_NOT,
    BROKEN_DOES_NOTHING,
    BROKEN_WRITES_NAN,
    BROKEN_HALF_THE_ROWS,  /* the second half of the rows is not written */
    BROKEN_ROW_OFF,        /* the first row that is not empty comes out 10 % too large */
    BROKEN_SPLIT_DROPPED,  /* combine forgets the last of several parts */
    BROKEN_NO_RESCALE,     /* sums keep the weight of an old maximum */
    BROKEN_NO_MAX,         /* exp of the bare score */
    BROKEN_SINK_PER_SPLIT, /* every part adds the sink to its own denominator */
    BROKEN_LAST_TILE_LOST
};

/* Writes args->out and args->lse, host pointers both. */
void broken_run(enum broken fault, const struct kernel_args *args, uint32_t nsplit);

#endif
