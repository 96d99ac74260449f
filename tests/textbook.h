/*
 * textbook: attention over a dense matrix, to hold the reference against.
 *
 * A path of its own: codes from a table that counts upwards, powers of two by doubling, every row
 * of K in one matrix of long double, softmax with all of its terms.
 */
#ifndef TESTS_TEXTBOOK_H
#define TESTS_TEXTBOOK_H

#include <stdint.h>

#include "kernels/kernel.h"

/*
 * The worst difference of a row's out [heads][512] and lse [heads] from the textbook's: out as a
 * share of the largest value of K, lse of max(1, |lse|).
 */
double textbook_difference(const struct kernel_args *args, uint32_t row, const double *out,
                           const double *lse);

#endif
