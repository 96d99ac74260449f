/*
 * pass: one look at a point.  Each pass is a file, a row in pass_table and a test.
 *
 * A pass reads the context and adds to the record.  It returns FAIL_OK also when the point turned
 * out bad (record_status says so); a fail code ends the point: FAIL_UNSUPPORTED skips it, any other
 * fails it.
 */
#ifndef BENCH_PASS_H
#define BENCH_PASS_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/record.h"
#include "data/gpuspec.h"
#include "data/plan.h"
#include "data/point.h"
#include "kernels/kernel.h"

struct rig;

struct pass_settings {
    int64_t samples_least, samples_most; /* timed replays a point */
    double ci_pct;   /* sampling may end once the median is known within this (bench/sampling.h) */
    double timing_s; /* a point's warm-up and samples take no longer */
    bool counters;   /* false: leave the count pass out */
};

struct pass_context {
    const struct point *point;
    const struct kernel *kernel; /* NULL until the shape is known, or without such a variant */
    const struct gpuspec *spec;
    struct kernel_shape shape; /* of one call */
    struct plan plan; /* of one call; registers as the trace pass found them on the device */
    struct rig *rig;  /* device data; NULL on a model */
    const struct pass_settings *settings;
    struct record *record;
    double step_us; /* median of the time pass, NaN before it */
    /* Mean time of each launch of a step in order, from the trace pass; NULL without it. */
    double *launch_us;
};

enum pass_where { PASS_ANYWHERE, PASS_DEVICE, PASS_MODEL };

struct pass {
    const char *name;
    enum pass_where where;
    int (*run)(struct pass_context *context);
};

extern const struct pass pass_table[];
extern const size_t pass_count;

/* The result against the reference, on a sample of rows and heads. */
int pass_check(struct pass_context *context);
/* Step time by device events. */
int pass_time(struct pass_context *context);
/* Every launch by the Activity API. */
int pass_trace(struct pass_context *context);
/* What the plan says of each launch: occupancy, waves. */
int pass_launches(struct pass_context *context);
/* Achieved occupancy, busy SMs, bytes by the Range Profiler. */
int pass_counters(struct pass_context *context);
/* All of it from plan and spec alone. */
int pass_model(struct pass_context *context);

#endif
