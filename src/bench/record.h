/*
 * record: what the passes of one point have found so far; becomes a store_result.
 */
#ifndef BENCH_RECORD_H
#define BENCH_RECORD_H

#include "base/text.h"
#include "data/plan.h"
#include "data/store.h"

struct record {
    struct store_result result; /* arrays owned here */
    struct text reason, notes;  /* of the status; why numbers are missing */
    struct text whole_reason;   /* both, for the result */
    struct axis_value used[AXIS_COUNT];
};

void record_start(struct record *record);
void record_free(struct record *record);

/* Metric of the point (launch_ord -1) or of a launch; NaN is left out.  name
 * and source are literals. */
void record_metric(struct record *record, int64_t launch_ord, const char *name, double value,
                   const char *source);
void record_sample(struct record *record, double ns, int64_t steps);
double record_median_ns(const struct record *record); /* of the samples; NaN: there are none */
/* Adds one distinct launch of the step; its ord is its place. */
void record_launch(struct record *record, const struct plan_launch *launch, int64_t count,
                   int resident_blocks);

/*
 * Worse statuses win: a point that is already invalid stays so, and the winner's reason is kept.
 * STORE_OK with a reason notes something beside the status, such as why a number is missing; notes
 * add up, whatever the status is or becomes.
 */
void record_status(struct record *record, enum store_status status, const char *reason);

/*
 * Notes (as above) that `what` is missing and why (fail_text()): in the point's reason, and on
 * stderr once a process.  A second number missing for the same reason refers to it: the remedy is
 * told once.
 */
void record_missing(struct record *record, const char *what);

/* Completes result so that it can be stored. */
const struct store_result *record_result(struct record *record);

#endif
