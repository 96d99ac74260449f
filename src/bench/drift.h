/*
 * drift: whether the device is at the end of a run what it was at its beginning.
 *
 * The first point that a run times is measured once more when all others are done.  If its step
 * time has moved beyond its noise, the run is drifted: its points were not measured on equal terms.
 * The run file says so in run-wide metrics: first_ord        the point drift_first_us   its step
 * time, and that at the end, as drift_again_us drift_pct        100 x (again / first - 1) drifted
 * 1 or 0; not there while nothing could be compared.  Stays 1 when a run that drifted is gone on
 * with
 */
#ifndef BENCH_DRIFT_H
#define BENCH_DRIFT_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/measure.h"
#include "data/store.h"

/* A smaller move is noise however narrow the intervals: a point's median is only asked to be known
 * within this. */
#define DRIFT_NOISE_PCT 0.5

struct drift {
    double first_us, again_us, moved_pct; /* medians; NaN: nothing to compare */
    bool drifted;
};

/* Moved beyond the noise: by more than DRIFT_NOISE_PCT, and so far that the 95 % intervals of the
 * two medians have nothing in common.  False if either has fewer samples than an interval needs. */
bool drift_judge(struct drift *drift, const double *first_ns, size_t first_count,
                 const double *again_ns, size_t again_count);

/* To be called for each point that is finished: remembers the run's first one with samples. */
int drift_note_point(struct store *store, size_t ord, const struct store_result *result);

/*
 * Measures the first point again and writes what came of it; nothing if the run has none yet.  A
 * failure to measure leaves a warning and no verdict; FAIL_DATA: the run file cannot be written.
 */
int drift_check(struct store *store, const char *path, const struct measure *measure,
                const struct point_list *points);

#endif
