/*
 * findings: what a run says, as one table: a line for each case, the kernels side by side.
 *
 * A case is a point's key without its kernel.  For each kernel the step time and the busy SMs;
 * between neighbouring kernels, in the order they were swept, how many times faster the later one
 * is.
 */
#ifndef CMD_FINDINGS_H
#define CMD_FINDINGS_H

#include <stdio.h>

#include "data/store.h"

int findings_print(const struct store_file *file, FILE *out);

#endif
