#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "bench/plausible.h"
#include "tests/specs.h"

/* A launch with a theoretical occupancy of 25 % (NaN: not known), and one more metric. */
static void check(double theoretical, const char *name, double value, const char *reason)
{
    const struct plan_launch launch = {.name = "mla_split<4, \"x\">", .grid = {1, 1, 1}};
    struct record record;

    record_start(&record);
    record_launch(&record, &launch, 1, 2);
    record_metric(&record, 0, "theoretical_occupancy_pct", theoretical, "range-profiler");
    record_metric(&record, 0, name, value, "range-profiler");
    record_metric(&record, -1, "throttled", 0, "nvml");
    plausible_check(&record, &spec_h200, (double)NAN);
    assert_int_equal(record_result(&record)->status, reason ? STORE_INVALID : STORE_OK);
    if (reason)
        assert_string_equal(record_result(&record)->reason, reason);
    record_free(&record);
}

static void more_than_the_whole_is_flagged(void **state)
{
    (void)state;
    check(25, "achieved_occupancy_pct", 525,
          "achieved_occupancy_pct of mla_split<4, \"x\"> is 525, which is not within 0 and 25");
    check(25, "achieved_occupancy_pct", 25.3,
          "achieved_occupancy_pct of mla_split<4, \"x\"> is 25.3, which is not within 0 and 25");
    check((double)NAN, "achieved_occupancy_pct", 101.1,
          "achieved_occupancy_pct of mla_split<4, \"x\"> is 101.1, which is not within 0 and 100");
    check(25, "busy_sms", 134,
          "busy_sms of mla_split<4, \"x\"> is 134, which is not within 0 and 132");
    check(25, "achieved_occupancy_pct", -1,
          "achieved_occupancy_pct of mla_split<4, \"x\"> is -1, which is not within 0 and 25");
    check(25, "busy_sms", (double)INFINITY,
          "busy_sms of mla_split<4, \"x\"> is inf, which is not within 0 and 132");
}

static void what_can_be_is_left_alone(void **state)
{
    (void)state;
    check(25, "achieved_occupancy_pct", 25.2, NULL); /* within the counters' error */
    check(25, "achieved_occupancy_pct", 0, NULL);
    check((double)NAN, "achieved_occupancy_pct", 100, NULL);
    check(25, "busy_sms", 132, NULL);
    check(25, "dram_bytes", 1e12, NULL);                    /* nothing is known of it */
    check(25, "achieved_occupancy_pct", (double)NAN, NULL); /* not measured */
}

/* A cold point: its main launch has to read 1,000,000 bytes, its step 4,000,000 in 2 us. */
static void check_cold(const char *cache, double dram_bytes, double read_roof, const char *reason)
{
    const struct plan_launch main_launch = {.name = "mla_mma", .role = PLAN_MAIN};
    const struct plan_launch combine = {.name = "combine", .role = PLAN_COMBINE};
    struct record record;

    record_start(&record);
    snprintf(record.used[AXIS_CACHE].word, sizeof record.used[AXIS_CACHE].word, "%s", cache);
    record_launch(&record, &main_launch, 4, 1);
    record_launch(&record, &combine, 4, 1);
    record_metric(&record, 0, "must_read_bytes", 1e6, "workload");
    record_metric(&record, 0, "dram__bytes_read.sum", dram_bytes, "range-profiler");
    record_metric(&record, 0, "l2_hit_pct", 62.5, "range-profiler");
    record_metric(&record, 1, "dram__bytes_read.sum", 32, "range-profiler");
    record_metric(&record, -1, "must_read_bytes", 4e6, "workload");
    for (int i = 0; i < 3; i++)
        record_sample(&record, 1500 + 500 * i, 20);
    plausible_check(&record, &spec_h200, read_roof);
    assert_int_equal(record_result(&record)->status, reason ? STORE_INVALID : STORE_OK);
    if (reason)
        assert_string_equal(record_result(&record)->reason, reason);
    record_free(&record);
}

static void a_cold_point_that_was_warm_is_flagged(void **state)
{
    (void)state;
    check_cold("cold", 940000, 4000,
               "not cold: mla_mma read 940000 bytes from DRAM and cannot do with less than 1e+06 "
               "(L2 hits: 62.5 %)");
    check_cold("cold", 960000, 4000, NULL);
    check_cold("cold", (double)NAN, 4000, NULL); /* no counters, and 2000 GB/s can be */
    check_cold("hot", 32, 4000, NULL);
    check_cold("cold", 2e6, 1950,
               "not cold: the step would read what it cannot do without at 2000 GB/s, and the read "
               "roof of this run is 1950");
    check_cold("cold", 2e6, 1970, NULL); /* 1.02 times it is 2009 */
    check_cold("hot", 2e6, 1000, NULL);
    check_cold("cold", 2e6, (double)NAN, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_the_whole_is_flagged),
        cmocka_unit_test(what_can_be_is_left_alone),
        cmocka_unit_test(a_cold_point_that_was_warm_is_flagged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
