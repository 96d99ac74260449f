/* Readings of an NVML of our own over a stretch of time. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "gpu/telemetry.h"

static void look(struct telemetry *telemetry, double now_s, const char *mhz, const char *reasons)
{
    setenv("FAKE_NVML_SM_CLOCK", mhz, 1);
    setenv("FAKE_NVML", reasons, 1);
    telemetry_look(telemetry, now_s);
}

static void ranges_hold_what_was_read(void **state)
{
    struct telemetry telemetry;
    struct telemetry_range clock, power;

    (void)state;
    telemetry_start(&telemetry, "GPU-fake");
    look(&telemetry, 10.0, "1980", "0x4");
    look(&telemetry, 10.04, "300", "0x40"); /* too early */
    look(&telemetry, 10.06, "1400", "0x0");
    look(&telemetry, 11.0, "1965", "0x20");
    clock = telemetry_find_range(&telemetry, TELEMETRY_SM_CLOCK);
    power = telemetry_find_range(&telemetry, TELEMETRY_POWER);
    assert_true(clock.least == 1400 && clock.median == 1965 && clock.most == 1980);
    assert_true(fabs(power.least - 698.5) < 1e-9 && fabs(power.most - 698.5) < 1e-9);
    assert_true(telemetry_find_range(&telemetry, TELEMETRY_MEMORY_CLOCK).median == 3201);
    assert_true(telemetry_find_range(&telemetry, TELEMETRY_TEMPERATURE).most == 61);
    assert_true(telemetry.valid && telemetry.throttle_reasons == 0x24);
    telemetry_free(&telemetry);
}

static void what_fails_is_missing(void **state)
{
    struct telemetry telemetry;
    struct telemetry_range clock;

    (void)state;
    telemetry_start(&telemetry, "GPU-fake");
    look(&telemetry, 0, "1980", "broken");
    clock = telemetry_find_range(&telemetry, TELEMETRY_SM_CLOCK);
    assert_true(isnan(clock.least) && isnan(clock.median) && isnan(clock.most));
    assert_true(!telemetry.valid && telemetry.throttle_reasons == 0);
    look(&telemetry, 1, "1500", "0x0"); /* once is enough to know something */
    clock = telemetry_find_range(&telemetry, TELEMETRY_SM_CLOCK);
    assert_true(clock.least == 1500 && clock.most == 1500 && telemetry.valid);
    telemetry_free(&telemetry);
}

static void many_readings_are_kept(void **state)
{
    struct telemetry telemetry;

    (void)state;
    telemetry_start(&telemetry, "GPU-fake");
    for (int i = 0; i < 1000; i++)
        look(&telemetry, i, i < 600 ? "1000" : "2000", "0");
    assert_true(telemetry.counts[TELEMETRY_SM_CLOCK] == 1000);
    assert_true(telemetry_find_range(&telemetry, TELEMETRY_SM_CLOCK).median == 1000);
    telemetry_free(&telemetry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_hold_what_was_read),
        cmocka_unit_test(what_fails_is_missing),
        cmocka_unit_test(many_readings_are_kept),
    };

    setenv("SMSCOPE_NVML", "tests/fake_nvml.so", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
