/*
 * measured: what a run says of its own measuring, a line each for people; nothing where it does not
 * tell (a model, an older run).
 */
#ifndef ANALYSIS_MEASURED_H
#define ANALYSIS_MEASURED_H

#include "base/text.h"
#include "data/store.h"

/* The device's roofs as measured in this run (bench/ceilings.h). */
void measured_add_roofs(struct text *text, const struct store_file *file);

/*
 * What tracing costs: median over the points of 100 x (step time of the traced replays / step_us -
 * 1), both by device events.  NaN: no point was traced.
 */
double measured_trace_overhead_pct(const struct store_file *file);
void measured_add_trace_overhead(struct text *text, const struct store_file *file);

#endif
