#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

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
    plausible_check(&record, &spec_h200);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_the_whole_is_flagged),
        cmocka_unit_test(what_can_be_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
