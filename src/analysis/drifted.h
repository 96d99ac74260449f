/*
 * drifted: what a run says of its own steadiness (bench/drift.h: its first point, timed again at
 * the end).
 */
#ifndef ANALYSIS_DRIFTED_H
#define ANALYSIS_DRIFTED_H

#include "base/text.h"
#include "data/store.h"

struct drifted {
    const struct store_point_read *point; /* the one that was timed twice; NULL: none was */
    double first_us, again_us, moved_pct;
    double drifted; /* 1 or 0; NaN: not looked for (a model, an older run, a sweep ended early) */
};

void drifted_find(struct drifted *drifted, const struct store_file *file);

/* One line for people, nothing when it was not looked for. */
void drifted_add_text(struct text *text, const struct drifted *drifted);

#endif
