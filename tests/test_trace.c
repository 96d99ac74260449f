#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/trace.h"
#include "tests/near.h"

static void union_leaves_gaps_out_and_counts_overlaps_once(void **state)
{
    /* [100,150) [120,160) overlap by 30; a gap of 40; [200,210) holds [202,204) */
    const struct trace_span spans[] = {{100, 150}, {120, 160}, {200, 210}, {202, 204}};

    (void)state;
    assert_int_equal(trace_union_ns(spans, 4), 60 + 10);
    assert_int_equal(trace_union_ns(spans, 1), 50);
    assert_int_equal(trace_union_ns(spans, 0), 0);
}

static void step_time_is_the_median_over_steps(void **state)
{
    /* three steps of two launches: 3000, 5000 and 40000 ns of work, with gaps between the launches
     */
    const struct trace_span spans[] = {{1000, 3000},   {3500, 4500},   {10000, 14000},
                                       {14100, 15100}, {20000, 50000}, {60000, 70000}};
    double mean_us[2];

    (void)state;
    assert_near(trace_step_us(spans, 3, 2), 5.0, 1e-12);
    trace_launch_us(spans, 3, 2, mean_us);
    assert_near(mean_us[0], (2.0 + 4.0 + 30.0) / 3, 1e-12);
    assert_near(mean_us[1], (1.0 + 1.0 + 10.0) / 3, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(union_leaves_gaps_out_and_counts_overlaps_once),
        cmocka_unit_test(step_time_is_the_median_over_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
