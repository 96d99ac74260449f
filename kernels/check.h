/*
 * check: compares a kernel's output with the reference and gives the verdict.
 *
 *   rel_error  worst (row, head) of |out - ref|_2 / |ref|_2; 0/0 = 0, x/0 = inf, NaN anywhere in
 * out = NaN lse_error  worst |d| / max(1, |ref|); equal infinities 0, any other infinity inf, NaN =
 * NaN Passes when rel_error <= 4.5e-3 and lse_error <= 1e-5; NaN never passes.  bf16 rounding of an
 * exact result alone costs up to 2.5e-3; P in fp8 costs about 1e-2.
 */
#ifndef KERNELS_CHECK_H
#define KERNELS_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#define CHECK_REL_LIMIT 4.5e-3
#define CHECK_LSE_LIMIT 1e-5

enum {
    CHECK_POISON = 0x7fc1
}; /* bf16 NaN with a payload; fill out with it before a run (lse: 0x7fc1dead) */

struct check {
    double max_abs, mean_abs; /* of out - ref over all values */
    double rel_error;
    double max_rel; /* max |d| / max |ref| over the whole output */
    double lse_error;
    bool passed;
};

/* out: bf16 [rows][heads][512], lse: [rows][heads]; ref as reference_run() wrote it. */
void check_compare(struct check *check, const uint16_t *out, const float *lse,
                   const double *ref_out, const double *ref_lse, uint64_t row_heads);

/*
 * The bit-for-bit gate of hard data: out must equal ref (exact in bf16) in every bit, +0 standing
 * for -0 allowed.  Sets passed false besides what check_compare found when a value differs; returns
 * the number of differing values.
 */
uint64_t check_exact(struct check *check, const uint16_t *out, const double *ref_out,
                     uint64_t row_heads);

#endif
