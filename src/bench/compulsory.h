/*
 * compulsory: what a cold step cannot do without reading from DRAM.
 *
 * Of each row with valid entries its q, and of each valid entry the token and the list entry that
 * names it.  Lists of a rig name no token twice.  Scratch, lengths and sinks are left out, and what
 * a kernel reads beyond it (padding of lists, whole sectors): no kernel can do with less.
 */
#ifndef BENCH_COMPULSORY_H
#define BENCH_COMPULSORY_H

#include <stdint.h>

#include "bench/rig.h"

/* Of `rows` rows from first_row on; rows of all steps are numbered through. */
uint64_t compulsory_bytes(const struct rig *rig, uint32_t heads, uint64_t first_row, uint64_t rows);

#endif
