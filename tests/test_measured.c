#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "analysis/measured.h"
#include "tests/near.h"

static void check(void (*add)(struct text *text, const struct store_file *file),
                  const struct store_file *file, const char *line)
{
    struct text text = TEXT_INIT;

    add(&text, file);
    assert_string_equal(text.bytes, line);
    text_free(&text);
}

static void roofs_are_told_where_they_are_measured(void **state)
{
    static struct store_metric metrics[] = {
        {-1, "matrix_peak_tflops", 712.4, "cublas"},
        {-1, "setting.counters", 1, "command"},
        {-1, "copy_roof_gb_per_s", 3889.6, "event"},
        {-1, "read_roof_gb_per_s", 4210.2, "event"},
    };
    struct store_file file = {.metrics = metrics, .metric_count = 4};

    (void)state;
    check(measured_add_roofs, &file,
          "Roofs measured in this run: read 4210 GB/s, copy 3890 GB/s, matrix product 712 Tflop/s "
          "(cuBLAS).");
    file.metric_count = 1;
    check(measured_add_roofs, &file,
          "Roofs measured in this run: matrix product 712 Tflop/s (cuBLAS).");
    file.metric_count = 0;
    check(measured_add_roofs, &file, "");
}

/* Points with an overhead of 3, none, 1 and 9 percent; a metric of a launch is none of a point. */
static void overhead_is_the_median_of_the_points(void **state)
{
    static struct store_metric three = {-1, "trace_overhead_pct", 3, "event"};
    static struct store_metric launch = {0, "trace_overhead_pct", 100, "event"};
    static struct store_metric one = {-1, "trace_overhead_pct", 1, "event"};
    static struct store_metric nine = {-1, "trace_overhead_pct", 9, "event"};
    struct store_point_read points[] = {{.metrics = &three, .metric_count = 1},
                                        {.metrics = &launch, .metric_count = 1},
                                        {.metrics = &one, .metric_count = 1},
                                        {.metrics = &nine, .metric_count = 1}};
    struct store_file file = {.points = points, .count = 4};

    (void)state;
    assert_near(measured_trace_overhead_pct(&file), 3, 1e-12);
    check(measured_add_trace_overhead, &file,
          "Traced steps took 3.0 % more than those that are timed (median of the points): times "
          "are taken without tracing.");
    file.count = 2;
    points[0].metrics = &launch;
    assert_true(isnan(measured_trace_overhead_pct(&file)) != 0);
    check(measured_add_trace_overhead, &file, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(roofs_are_told_where_they_are_measured),
        cmocka_unit_test(overhead_is_the_median_of_the_points),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
