/*
 * sourced: a number of the run file together with where it is from, and how the numbers of launches
 * become one of a step.  Missing: value NaN and source NULL.
 */
#ifndef ANALYSIS_SOURCED_H
#define ANALYSIS_SOURCED_H

#include <stdbool.h>

#include "data/store.h"

struct sourced {
    double value;
    const char *source; /* borrowed from the point */
};

bool sourced_is_model(const char *source);

/* The value if both are modelled or neither is: a number must not hide behind a
 * label of another kind. */
double sourced_labelled(struct sourced number, const char *label);

struct sourced sourced_of_point(const struct store_point_read *point, const char *name);
struct sourced sourced_of_launch(const struct store_point_read *point,
                                 const struct store_launch *launch, const char *name);

/* Mean over the main launches of a step, weighted by their gpu_us, evenly where there is none;
 * missing if one of them has no value. */
struct sourced sourced_main_mean(const struct store_point_read *point, const char *name);

/* Of the point where it was stored so, else the mean over the main launches. */
struct sourced sourced_point_or_main(const struct store_point_read *point, const char *name);

/* Sum of count x value over a step's launches, or over the main ones; missing
 * if one of them has no value. */
struct sourced sourced_step_sum(const struct store_point_read *point, const char *name,
                                bool main_only);

/* DRAM bytes of one launch: counted, or as planned where the label is the
 * model's; NaN if neither. */
double sourced_dram_bytes(const struct store_point_read *point, const struct store_launch *launch,
                          const char *label);

/* Over the launches that have a value. */
struct sourced sourced_largest(const struct store_point_read *point, const char *name);

#endif
