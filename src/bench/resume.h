/*
 * resume: turns a sweep into one that goes on with the run its file holds.
 *
 * The run file says what the run is: its device, seed, settings and points.  A sweep that goes on
 * may leave all of them out, may name points that are new to the run, and may contradict in
 * nothing: a run is of one device, one set of kernels and one seed.
 */
#ifndef BENCH_RESUME_H
#define BENCH_RESUME_H

#include "base/options.h"
#include "bench/sweep.h"
#include "data/store.h"

struct resume {
    struct store_file file;   /* the run as it is found */
    struct point_list points; /* of the file, in its order; then those that are new */
};

/*
 * Reads the run at sweep->path and completes the sweep by it: device, seed and settings where the
 * command did not give them, all of the points, what there is left to do.  sweep borrows from
 * resume.  FAIL_USAGE with what differs when command and run contradict each other.
 */
int resume_take_up(struct resume *resume, struct sweep *sweep, const struct option_list *given);
void resume_free(struct resume *resume);

/* Whether `now` is the device, with the driver and libraries, that the run is of. */
int resume_check_device(const struct store_run *run, const struct store_run *now, const char *path);

#endif
