/*
 * measure: takes one point through the passes.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "bench/pass.h"

/* What all points of a child share. */
struct measure {
    const struct gpuspec *spec;
    struct rig *rig; /* NULL on a model */
    const struct pass_settings *settings;
    uint64_t seed;
};

/* The point's outcome is in the record, whatever it is. */
void measure_point(const struct measure *measure, const struct point *point, struct record *record);

/* Phases named for an outer profiler; nothing on a model. */
void measure_phase_begin(const struct measure *measure, const char *name);
void measure_phase_end(const struct measure *measure);

#endif
