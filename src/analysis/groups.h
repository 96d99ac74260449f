/*
 * groups: rows that differ in nothing but their kernel, and the axes that tell the groups apart.
 *
 * A group is a point's key without its kernel.
 */
#ifndef ANALYSIS_GROUPS_H
#define ANALYSIS_GROUPS_H

#include "analysis/row.h"
#include "base/text.h"
#include "data/axis.h"

struct groups {
    const struct row **first; /* a row of each group, in the order of the rows; borrowed */
    size_t count;
    enum axis_id axes[AXIS_COUNT]; /* at least one; concurrency only where it is not the batch */
    size_t axis_count;
};

void groups_find(struct groups *groups, const struct row *rows, size_t count);
void groups_free(struct groups *groups);

/* What identifies a row's group. */
const char *groups_name(const struct row *row);

/* The value of an axis in place of what `value` held: as asked for where the key names it; as used
 * for concurrency, batch and the others. */
void groups_show_axis(const struct row *row, enum axis_id id, struct text *value);

#endif
