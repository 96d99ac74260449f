/*
 * sweep: runs points through the passes into a run file.
 *
 * The points run in a child process.  When the child dies, hangs or meets an error that spoils its
 * CUDA context, only the point in flight is lost: it is marked, and a fresh child goes on with the
 * points that are still pending.  A sweep that goes on with a run (--resume) is such a fresh child
 * from the start.
 *
 * A point that makes no progress for point_limit_s is taken for hung: its child is killed, the
 * point becomes timeout.  When budget_s is over no other point begins; those that were not reached
 * stay pending.
 *
 * SIGINT or SIGTERM ends the sweep after the point in flight; a second one ends it at once.
 */
#ifndef BENCH_SWEEP_H
#define BENCH_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "bench/pass.h"
#include "data/point.h"
#include "data/store.h"
#include "data/workload.h"

struct sweep {
    const char *device; /* "0", "model:rtx-pro-6000" */
    const struct workload *workload;
    const struct point_list *points;
    const struct store_run *run; /* gone on with (resume.h); NULL: a new run */
    size_t done;                 /* points that are finished already */
    struct text command;         /* for the record */
    struct text path; /* the run file; empty: sweep_run() names it after device and time */
    uint64_t seed;
    struct pass_settings settings;
    double point_limit_s; /* a point that takes longer is ended and becomes timeout */
    double budget_s;      /* of the whole sweep; 0: no end */
    double end_s;         /* when that is over, by steady_now_s(); sweep_run() sets it */
    bool if_changed;      /* keep a finished run of the same device, workload and kernels */
    bool kept;            /* out: it was kept */
    int signal;           /* out: the signal that ended the sweep early; 0: none */
};

/* The points of kernel_table as point_expand() wants them. */
struct point_kernel *sweep_kernels(size_t *count);

/* FAIL_OK also when points failed: their status says so. */
int sweep_run(struct sweep *sweep);

#endif
