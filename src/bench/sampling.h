/*
 * sampling: when a point is warm, and when it has been timed often enough.  Pure: whoever takes the
 * times tells them and the clock; tested without a GPU.
 */
#ifndef BENCH_SAMPLING_H
#define BENCH_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "bench/pass.h"

/*
 * Warm-up: replays in windows of at least WARM_UP_WINDOW_NS of their own time.  The device is warm
 * when the median times of the last WARM_UP_WINDOWS windows lie within WARM_UP_FLAT_PCT of each
 * other, and so do the SM clocks read after them (one step of an H200's clock is 0.8 %).
 */
enum { WARM_UP_WINDOWS = 3 };
#define WARM_UP_WINDOW_NS 10e6
#define WARM_UP_FLAT_PCT 1.0
/* A warm-up that finds no end takes at most this share of the point's timing_s. */
#define WARM_UP_SHARE 0.3

struct warm_up {
    double ns[WARM_UP_WINDOWS], clock_mhz[WARM_UP_WINDOWS]; /* of the last windows, in turn */
    size_t windows;
};

/* Adds a window, clock_mhz NaN where it cannot be read; returns whether the device is warm. */
bool warm_up_add(struct warm_up *warm_up, double median_ns, double clock_mhz);

/*
 * Samples of a point.  Looked at after samples_least and then each time they have grown by a
 * quarter: linear time in all.
 */
struct sampling {
    const struct pass_settings *settings;
    double *ns;
    size_t count, room, next_look;
    double within_pct; /* how well the median is known, as of the last look; NaN before it */
};

/* Fewer have no 95 % interval: a point has as many however long they take. */
enum { SAMPLING_FEWEST = 6 };

void sampling_start(struct sampling *sampling, const struct pass_settings *settings);
void sampling_free(struct sampling *sampling);

/*
 * Adds a sample that ended elapsed_s after the point's warm-up began.  Returns whether to go on:
 * until the median is known within ci_pct (stats_median_within_pct()), samples_most are taken or
 * timing_s is over.
 */
bool sampling_add(struct sampling *sampling, double ns, double elapsed_s);

bool sampling_on_target(const struct sampling *sampling);

/* For the point's reason, that the target was missed: "step_us is known within 0.8 %, not 0.5 %,
 * after 412 samples". */
void sampling_add_text(struct text *text, const struct sampling *sampling);

#endif
