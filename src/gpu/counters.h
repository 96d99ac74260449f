/*
 * counters: hardware counters of single launches by CUPTI's Range Profiler (user range, user
 * replay, one pass).
 *
 * A session holds the counter hardware from counters_open() to counters_close(); always close, also
 * on error paths: a session left half open spoils everything after it.  Never open one while
 * another kind of counter session is open.
 */
#ifndef GPU_COUNTERS_H
#define GPU_COUNTERS_H

#include <stddef.h>

struct counters;

/*
 * Opens a session on the current device, whose number is ordinal.  metrics: names, most wanted
 * first, valid until counters_close(); those that the chip or CUPTI does not know, and those that
 * would need a second pass beside the ones before them, are left out and read as NaN.  max_ranges:
 * most launches between two reads.  FAIL_ENV, with the remedy: not permitted, CUPTI missing or too
 * old, counters taken by another profiler, a virtual machine without counters, none of the metrics
 * possible.
 */
int counters_open(struct counters **counters, int ordinal, const char *const *metrics, size_t count,
                  size_t max_ranges);

/*
 * Around exactly one launch.  counters_push() waits for the device, counters_pop() for the stream.
 * range_name is for error texts.
 */
int counters_push(struct counters *counters, const char *range_name);
int counters_pop(struct counters *counters, void *stream);

/*
 * Decodes all ranges since open or the last read, in the order they were pushed:
 * values[range * metric count + metric], NaN where missing; room for max_ranges * metric count.
 * ranges: how many were pushed.  The session can go on afterwards.
 */
int counters_read(struct counters *counters, double *values, size_t *ranges);
void counters_close(struct counters *counters); /* NULL allowed */

#endif
