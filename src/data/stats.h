/*
 * stats: order statistics of samples.  All functions take unsorted values and leave them as they
 * are.
 */
#ifndef DATA_STATS_H
#define DATA_STATS_H

#include <stddef.h>

struct stats_interval {
    double low, high; /* NaN when count is too small for the confidence asked */
};

/* Median (mean of the two middle values for an even count); NaN for no values
 * or any NaN.  Linear time (selection). */
double stats_median(const double *values, size_t count);

/*
 * Distribution-free 95 % interval of the median from order statistics: the narrowest symmetric pair
 * of ranks whose binomial(count, 1/2) coverage is at least 0.95.  Needs at least 6 values (coverage
 * 0.969).
 */
struct stats_interval stats_median_interval(const double *values, size_t count);

/*
 * How well the median is known: the larger distance of it from an end of that interval, in percent
 * of the median.  NaN where there is no interval or the median is not > 0.  Linear time.
 */
double stats_median_within_pct(const double *values, size_t count);

double stats_geomean(const double *values, size_t count); /* NaN if any value is not > 0 */

#endif
