/*
 * fake_cupti: a libcupti.so of our own that delivers what a test puts in and fails where a test
 * wants it to.
 *
 * Opened through $SMSCOPE_CUPTI.  $FAKE_CUPTI, read at each call, is a comma-separated list of
 *   version=N            what cuptiGetVersion() tells (default: the headers' version)
 *   FUNCTION=N           FUNCTION returns CUptiResult N
 *   passes=N             pass count of every schedule
 *   hold                 a flush asks for all its buffers before it gives the first one back
 *   CAUSE=N              the Nth record of a flush is spoilt: lost (not delivered), dropped (nor is
 * it, and counted), zero, reversed, sentinel, duplicate (delivered twice), foreign (an hour before)
 *   correlation=N        every record is of launch N, of a node of its own
 *   flood=N              each record is delivered N times, as that of so many launches
 * cuptiGetTimestamp() tells the first moment while no kernel is traced and the last one else, so
 * that any record is within its phase, until a test sets the clock.
 * Metrics: a name with "unknown" is refused, one with "second_pass" needs one beside others,
 * "nan" and "inf" evaluate to that, "uncomputable" fails; else range number r (in the order pushed)
 * evaluates to 100 * (r + 1) + length of the name.  Ranges come out in reverse order. The order of
 * range profiler calls, struct sizes and one open session at a time are held against the rules.
 */
#ifndef TESTS_FAKE_CUPTI_H
#define TESTS_FAKE_CUPTI_H

#include <stddef.h>
#include <stdint.h>

/* dlsym() names of the controls; a test opens the same file again to find them. */

/* Queues a kernel record for the next flush, if the kind is enabled. */
typedef void fake_cupti_kernel(uint64_t start_ns, uint64_t end_ns, const char *name,
                               uint32_t correlation);
/* Records a buffer holds before it counts as full (0: as many as fit), and what CUPTI says it
 * dropped. */
typedef void fake_cupti_buffers(size_t records_each, size_t dropped);
/* What cuptiGetTimestamp() tells; 0: as above. */
typedef void fake_cupti_clock(uint64_t now_ns);
/* Sessions enabled and not disabled, plus profiler host objects not released. */
typedef int fake_cupti_open_objects(void);

#endif
