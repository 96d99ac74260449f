/*
 * reference: the operation of kernel.h in plain C and double precision, for host data.
 *
 * Shares nothing with the kernels but layout.h and kernel.h.  Threads over rows and heads.
 */
#ifndef KERNELS_REFERENCE_H
#define KERNELS_REFERENCE_H

#include <stdint.h>

#include "kernels/kernel.h"

/* Selects what to compute: NULL rows or heads means all of them. */
struct reference_part {
    const uint32_t *rows;
    uint32_t row_count;
    const uint32_t *heads;
    uint32_t head_count;
    /* Slots of the pools repeat: slot s stands at slot s % period_slots; 0: no period.  For
     * benchmark pools of repeated pages. */
    uint64_t period_slots, extra_period_slots;
};

/*
 * args: host pointers (out, lse, scratch unused).  out: doubles [rows][heads][512], lse: doubles
 * [rows][heads], in the order of the selection.  threads 0: one for each online CPU.  part may be
 * NULL: everything.
 */
void reference_run(const struct kernel_args *args, const struct reference_part *part, double *out,
                   double *lse, unsigned threads);

/* One dequantised token, 512 doubles. */
void reference_token(const struct kernel_cache *cache, uint64_t slot, double *values);

double reference_e4m3(uint8_t code); /* NaN for 0x7F and 0xFF */
double reference_e8m0(uint8_t byte); /* NaN for 0xFF */
double reference_bf16(uint16_t bits);

#endif
