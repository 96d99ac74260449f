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
    struct text reason;
    struct axis_value used[AXIS_COUNT];
};

void record_start(struct record *record);
void record_free(struct record *record);

/* Metric of the point (launch_ord -1) or of a launch; NaN is left out.  name
 * and source are literals. */
void record_metric(struct record *record, int64_t launch_ord, const char *name, double value,
                   const char *source);
void record_sample(struct record *record, double ns, int64_t steps);
/* Adds one distinct launch of the step; its ord is its place. */
void record_launch(struct record *record, const struct plan_launch *launch, int64_t count,
                   int resident_blocks);

/*
 * Worse statuses win: a point that is already invalid stays so, and the winner's reason is kept.
 * STORE_OK with a reason notes why a number is missing; such notes add up.
 */
void record_status(struct record *record, enum store_status status, const char *reason);

/* Completes result so that it can be stored. */
const struct store_result *record_result(struct record *record);

#endif
