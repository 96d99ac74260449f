/*
 * select: the points of a run that have given axis values, for `-a NAME=ITEMS` of readers.
 */
#ifndef ANALYSIS_SELECT_H
#define ANALYSIS_SELECT_H

#include "data/store.h"

/*
 * Drops the other points.  For each option a point needs one of the ITEMS, either as it was asked
 * for (batch=auto) or as it was used (batch=8); concurrency=batch takes those whose two are equal,
 * kernel=all every kernel.  An axis that a point does not have equals nothing.  FAIL_USAGE: no such
 * axis or item.  FAIL_NOTHING: no point is left.
 */
int select_points(struct store_file *file, const char *const *options, size_t count);

#endif
