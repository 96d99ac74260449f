#include "bench/trace.h"

#include <stdlib.h>

#include "base/mem.h"
#include "data/stats.h"

uint64_t trace_union_ns(const struct trace_span *spans, size_t count)
{
    uint64_t sum = 0, reached = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t from = spans[i].start_ns > reached ? spans[i].start_ns : reached;

        if (spans[i].end_ns > from) {
            sum += spans[i].end_ns - from;
            reached = spans[i].end_ns;
        }
    }
    return sum;
}

double trace_step_us(const struct trace_span *spans, size_t steps, size_t launches)
{
    double *us = mem_new(steps, sizeof *us);
    double median;

    for (size_t step = 0; step < steps; step++)
        us[step] = (double)trace_union_ns(spans + step * launches, launches) / 1e3;
    median = stats_median(us, steps);
    free(us);
    return median;
}

void trace_launch_us(const struct trace_span *spans, size_t steps, size_t launches, double *mean_us)
{
    for (size_t i = 0; i < launches; i++) {
        double sum = 0;

        for (size_t step = 0; step < steps; step++) {
            const struct trace_span *span = &spans[step * launches + i];

            sum += (double)(span->end_ns - span->start_ns) / 1e3;
        }
        mean_us[i] = sum / (double)steps;
    }
}
