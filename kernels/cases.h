/*
 * cases: the data sets that every kernel is held against the reference on, by `validate` and by the
 * tests.  A kernel that splits the list runs a set once for each nsplit, others once.
 *
 * The group "product" is the product of batch 1, 4, 16, 32; topk 33, 128, 512; with and without
 * lengths; main list only and with an extra list; pages of 2, 64, 256 tokens, padded and unpadded;
 * soft, peaked and steep data; 64 heads.  The other groups are one special case each.
 */
#ifndef KERNELS_CASES_H
#define KERNELS_CASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/synth.h"

struct check_case {
    const char *group; /* what is special, e.g. "holes" */
    struct synth_spec spec;
    const uint32_t *nsplit; /* ascending, starts with 1 */
    size_t nsplit_count;
    bool exact; /* hard data: check_exact() holds besides check_compare() */
};

/*
 * All sets, or (quick) the small ones, a few seconds of one CPU core in all.  A set has the same
 * data in both.  free() the array.
 */
struct check_case *cases_make(bool quick, uint64_t seed, size_t *count);

#endif
