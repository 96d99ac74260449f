#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/nvml.h"

/* The library is opened once in a process, so each case has its own. */
static bool elsewhere(bool (*holds)(void))
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(holds() ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool nothing_is_read(void)
{
    struct nvml_state s;
    char version[32] = "junk";

    nvml_read("GPU-fake", &s);
    nvml_driver_version(version, sizeof version);
    return !s.valid && isnan(s.sm_clock_mhz) && isnan(s.memory_clock_mhz) && isnan(s.power_w) &&
           isnan(s.temperature_c) && s.throttle_reasons == 0 && version[0] == '\0';
}

static bool reads_everything(void)
{
    struct nvml_state s;
    char version[32];
    const char *why = "";

    setenv("FAKE_NVML", "0x5", 1);
    if (!nvml_available(&why) || why)
        return false;
    nvml_read("GPU-fake", &s);
    nvml_driver_version(version, sizeof version);
    return s.valid && s.sm_clock_mhz == 1500 && s.memory_clock_mhz == 3201 &&
           fabs(s.power_w - 698.5) < 1e-9 && s.temperature_c == 61 && s.throttle_reasons == 5 &&
           strcmp(version, "999.12.34") == 0;
}

static bool unknown_gpu_reads_as_nothing(void)
{
    struct nvml_state s;

    nvml_read("GPU-fake", &s);
    nvml_read("GPU-other", &s);
    if (s.valid || !isnan(s.sm_clock_mhz) || !isnan(s.power_w))
        return false;
    nvml_read("GPU-fake", &s);
    return s.valid && s.sm_clock_mhz == 1500;
}

static bool failed_readings_are_not_zero(void)
{
    struct nvml_state s;

    setenv("FAKE_NVML", "broken", 1);
    nvml_read("GPU-fake", &s);
    return !s.valid && isnan(s.sm_clock_mhz) && isnan(s.memory_clock_mhz) && isnan(s.power_w) &&
           isnan(s.temperature_c) && s.throttle_reasons == 0;
}

static bool old_library_tells_reasons_too(void)
{
    struct nvml_state s;

    setenv("SMSCOPE_NVML", "tests/fake_nvml_old.so", 1);
    nvml_read("GPU-fake", &s);
    return s.valid && s.throttle_reasons == 0x20;
}

static bool missing_library_is_told(void)
{
    const char *why = NULL;

    setenv("SMSCOPE_NVML", "/nowhere/libnvidia-ml.so.1", 1);
    return !nvml_available(&why) && strstr(why, "SMSCOPE_NVML") && nothing_is_read();
}

static bool missing_driver_is_told(void)
{
    const char *why = NULL;

    setenv("FAKE_NVML", "no-init", 1);
    return !nvml_available(&why) && strstr(why, "driver") && nothing_is_read();
}

static void libraries(void **state)
{
    (void)state;
    assert_true(elsewhere(reads_everything));
    assert_true(elsewhere(unknown_gpu_reads_as_nothing));
    assert_true(elsewhere(failed_readings_are_not_zero));
    assert_true(elsewhere(old_library_tells_reasons_too));
    assert_true(elsewhere(missing_library_is_told));
    assert_true(elsewhere(missing_driver_is_told));
}

static void reasons_that_mean_slower(void **state)
{
    /* nvml.h: idle 0x1, application clocks 0x2, power cap 0x4, display clocks 0x100 */
    (void)state;
    assert_false(nvml_is_throttled(0));
    assert_false(nvml_is_throttled(0x1 | 0x2 | 0x4 | 0x100));
    assert_string_equal(nvml_reasons_text(0x103), "");
    assert_string_equal(nvml_reasons_text(0x4), "power_cap");
    assert_string_equal(nvml_reasons_text(0x48 | 0x1), "hw_slowdown+hw_thermal");
    assert_string_equal(nvml_reasons_text(0xfc),
                        "power_cap+hw_slowdown+sync_boost+thermal+hw_thermal+hw_power_brake");
    assert_true(nvml_is_throttled(0x8));
    assert_true(nvml_is_throttled(0x10));
    assert_true(nvml_is_throttled(0x20));
    assert_true(nvml_is_throttled(0x40));
    assert_true(nvml_is_throttled(0x80 | 0x4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries),
        cmocka_unit_test(reasons_that_mean_slower),
    };

    setenv("SMSCOPE_NVML", "tests/fake_nvml.so", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
