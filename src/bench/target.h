/*
 * target: what a sweep measures on: a GPU with its rig, or a model.
 */
#ifndef BENCH_TARGET_H
#define BENCH_TARGET_H

#include <stdint.h>

#include "base/text.h"
#include "bench/sweep.h"
#include "data/gpuspec.h"
#include "data/store.h"

struct rig;

struct target {
    struct rig *rig; /* NULL on a model */
    struct gpuspec spec;
    struct text spec_text;
    struct text label;                /* as in the run table: a model says so */
    const char *uuid, *driver, *cuda; /* "" on a model */
    char cupti[16], cc[16], started_at[32];
};

/* Whether a name of -d can be one: FAIL_USAGE for no number and for no usable
 * model.  Touches no GPU. */
int target_check_name(const char *name);

/* By the name of -d.  Close it also after a failure: FAIL_USAGE for a name that is none, FAIL_ENV
 * where there is no such GPU. */
int target_open(struct target *target, const char *name, uint64_t seed);
void target_close(struct target *target);

/* The run of a sweep that starts now on the target; borrows from both. */
void target_describe(struct target *target, const struct sweep *sweep, struct store_run *run);

#endif
