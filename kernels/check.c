#include "kernels/check.h"

#include <math.h>
#include <string.h>

#include "kernels/layout.h"

static double from_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;

    memcpy(&value, &wide, sizeof value);
    return value;
}

/* bf16 of a value that is one; anything else is cut off, so that it compares as different. */
static bool to_bf16(double value, uint16_t *bits)
{
    float narrow = (float)value;
    uint32_t wide;

    memcpy(&wide, &narrow, sizeof wide);
    *bits = (uint16_t)(wide >> 16);
    return (double)narrow == value && (wide & 0xffff) == 0;
}

/* 0/0 = 0, x/0 = inf; NaN stays NaN. */
static double ratio(double error, double size)
{
    return error == 0 ? 0 : error / size;
}

/* Running maximum that a NaN never leaves again. */
static void raise_to(double *worst, double value)
{
    if (isnan(value) || value > *worst)
        *worst = value;
}

static double lse_difference(double lse, double ref)
{
    if (isnan(lse) || isnan(ref))
        return NAN;
    if (isinf(lse) || isinf(ref))
        return lse == ref ? 0 : INFINITY;
    return fabs(lse - ref) / fmax(1, fabs(ref));
}

/* One (row, head); returns the sum of |d|. */
static double compare_vector(struct check *check, const uint16_t *out, const double *ref,
                             double *max_ref)
{
    double error = 0, size = 0, sum = 0;

    for (int i = 0; i < LAYOUT_DIM; i++) {
        double difference = fabs(from_bf16(out[i]) - ref[i]);

        error += difference * difference;
        size += ref[i] * ref[i];
        sum += difference;
        raise_to(&check->max_abs, difference);
        raise_to(max_ref, fabs(ref[i]));
    }
    raise_to(&check->rel_error, ratio(sqrt(error), sqrt(size)));
    return sum;
}

void check_compare(struct check *check, const uint16_t *out, const float *lse,
                   const double *ref_out, const double *ref_lse, uint64_t row_heads)
{
    double sum = 0, max_ref = 0;

    *check = (struct check){0};
    for (uint64_t i = 0; i < row_heads; i++) {
        sum += compare_vector(check, out + i * LAYOUT_DIM, ref_out + i * LAYOUT_DIM, &max_ref);
        raise_to(&check->lse_error, lse_difference(lse[i], ref_lse[i]));
    }
    check->mean_abs = ratio(sum, (double)row_heads * LAYOUT_DIM);
    check->max_rel = ratio(check->max_abs, max_ref);
    check->passed = check->rel_error <= CHECK_REL_LIMIT && check->lse_error <= CHECK_LSE_LIMIT;
}

uint64_t check_exact(struct check *check, const uint16_t *out, const double *ref_out,
                     uint64_t row_heads)
{
    uint64_t wrong = 0;

    for (uint64_t i = 0; i < row_heads * LAYOUT_DIM; i++) {
        uint16_t ref;
        bool exact = to_bf16(ref_out[i], &ref);
        bool zero_for_zero = out[i] == 0 && ref == 0x8000;

        wrong += !exact || (out[i] != ref && !zero_for_zero);
    }
    if (wrong > 0)
        check->passed = false;
    return wrong;
}
