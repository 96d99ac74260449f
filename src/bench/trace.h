/*
 * trace: turns the records of a traced run into times of a step.  Pure: no CUDA, tested without a
 * GPU.
 */
#ifndef BENCH_TRACE_H
#define BENCH_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "data/plan.h"
#include "gpu/activity.h"

/* One kernel record, in the order of its start. */
struct trace_span {
    uint64_t start_ns, end_ns;
};

/*
 * Whether the records are exactly the `launched` launches of steps that make the plan's launches in
 * order, flushes of L2 apart: as many records, in that order, and none that is lost, broken, double
 * or of another kernel.  Fills spans (room for launched) and says in *reason what is wrong.
 */
bool trace_match(const struct activity_list *list, const struct plan *plan, size_t launched,
                 struct trace_span *spans, struct text *reason);

/* Length of the union of spans sorted by start: gaps out, overlaps once. */
uint64_t trace_union_ns(const struct trace_span *spans, size_t count);

/* Median over steps of the union of each step's spans; count must be steps x launches. */
double trace_step_us(const struct trace_span *spans, size_t steps, size_t launches);

/* Mean length of launch i of a step over all steps, for each of the launches. */
void trace_launch_us(const struct trace_span *spans, size_t steps, size_t launches,
                     double *mean_us);

#endif
