/*
 * findings: what a run says, as one table: a line for each group of points that differ in
 * nothing but their kernel, the kernels side by side.
 *
 * A group is shown by the axes in which the groups differ (analysis/groups.h).
 * For each kernel the step time and the busy SMs; between neighbouring kernels, in the order they
 * were swept, how many times faster the later one is; then each kernel's bound and its share of it
 * (analysis/bound.h).
 */
#ifndef CMD_FINDINGS_H
#define CMD_FINDINGS_H

#include <stdio.h>

#include "base/table.h"
#include "data/store.h"

/* TEXT and MARKDOWN with what the table needs to be read by itself: device and source above it,
 * points that are not ok below.  CSV and JSON are the table alone.  FAIL_DATA as table_write(). */
int findings_print(const struct store_file *file, enum table_format format, FILE *out);

#endif
