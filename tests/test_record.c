#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/fail.h"
#include "bench/record.h"

static void a_worse_status_wins_and_keeps_its_reason(void **state)
{
    struct record record;

    (void)state;
    record_start(&record);
    record_status(&record, STORE_OK, "no counters");
    record_status(&record, STORE_OK, "no records");
    assert_int_equal(record_result(&record)->status, STORE_OK);
    assert_string_equal(record_result(&record)->reason, "no counters; no records");
    record_status(&record, STORE_INVALID, "lost records");
    record_status(&record, STORE_THROTTLED, "hot");
    assert_int_equal(record_result(&record)->status, STORE_INVALID);
    assert_string_equal(record_result(&record)->reason, "lost records; no counters; no records");
    record_status(&record, STORE_MISMATCH, "wrong");
    record_status(&record, STORE_OK, "late note");
    assert_int_equal(record_result(&record)->status, STORE_MISMATCH);
    assert_string_equal(record_result(&record)->reason,
                        "wrong; no counters; no records; late note");
    record_free(&record);
}

static void one_reason_is_told_once(void **state)
{
    struct record record;

    (void)state;
    record_start(&record);
    (void)fail_set(FAIL_ENV, "enable: BUSY (26): taken; stop it");
    record_missing(&record, "gpu_us");
    (void)fail_set(FAIL_ENV, "counters: open: BUSY (26): taken; stop it");
    record_missing(&record, "occupancy");
    (void)fail_set(FAIL_ENV, "no such library");
    record_missing(&record, "clocks");
    assert_int_equal(record_result(&record)->status, STORE_OK);
    assert_string_equal(record_result(&record)->reason,
                        "gpu_us not measured: enable: BUSY (26): taken; stop it; "
                        "occupancy not measured for the same reason; "
                        "clocks not measured: no such library");
    record_free(&record);
}

static void missing_metrics_are_not_there(void **state)
{
    struct record record;

    (void)state;
    record_start(&record);
    record_metric(&record, 0, "busy_sms", (double)NAN, "model");
    record_metric(&record, -1, "gpu_us", 3.5, "model");
    record_sample(&record, 1000, 20);
    assert_int_equal(record_result(&record)->metric_count, 1);
    assert_string_equal(record_result(&record)->metrics[0].name, "gpu_us");
    assert_int_equal(record_result(&record)->sample_count, 1);
    assert_null(record_result(&record)->reason);
    assert_true(isnan(record_result(&record)->rel_error));
    record_free(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worse_status_wins_and_keeps_its_reason),
        cmocka_unit_test(one_reason_is_told_once),
        cmocka_unit_test(missing_metrics_are_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
