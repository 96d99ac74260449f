#include "analysis/measured.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "data/stats.h"

void measured_add_roofs(struct text *text, const struct store_file *file)
{
    static const struct {
        const char *metric, *name, *unit;
    } roofs[] = {
        {"read_roof_gb_per_s", "read ", " GB/s"},
        {"copy_roof_gb_per_s", "copy ", " GB/s"},
        {"matrix_peak_tflops", "matrix product ", " Tflop/s (cuBLAS)"},
    };
    const char *before = "Roofs measured in this run: ";

    for (size_t i = 0; i < sizeof roofs / sizeof *roofs; i++) {
        double value = store_find_run_metric(file, roofs[i].metric, NULL);

        if (isnan(value))
            continue;
        text_addf(text, "%s%s", before, roofs[i].name);
        text_add_fixed(text, value, 0);
        text_add(text, roofs[i].unit);
        before = ", ";
    }
    if (*before == ',')
        text_add(text, ".");
}

double measured_trace_overhead_pct(const struct store_file *file)
{
    double *pct = mem_new(file->count, sizeof *pct), median;
    size_t count = 0;

    for (size_t i = 0; i < file->count; i++) {
        double value = store_find_metric(&file->points[i], -1, "trace_overhead_pct", NULL);

        if (!isnan(value))
            pct[count++] = value;
    }
    median = stats_median(pct, count);
    free(pct);
    return median;
}

void measured_add_trace_overhead(struct text *text, const struct store_file *file)
{
    double pct = measured_trace_overhead_pct(file);

    if (isnan(pct))
        return;
    text_add(text, "Traced steps took ");
    text_add_fixed(text, fabs(pct), 1);
    text_addf(
        text,
        " %% %s than those that are timed (median of the points): times are taken without tracing.",
        pct < 0 ? "less" : "more");
}
