#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/text.h"
#include "gpu/counters.h"
#include "gpu/cupti.h"
#include "gpu/doctor.h"
#include "tests/fake_cupti.h"

/* There may be no GPU here: linked in place of the runtime's calls (ld --wrap). */
int __wrap_cudaStreamSynchronize(void *stream);
int __wrap_cudaDeviceSynchronize(void);
void *__wrap_device_context(void);

int __wrap_cudaStreamSynchronize(void *stream)
{
    return stream ? 719 : 0; /* a stream that is not NULL stands for a failed launch */
}

int __wrap_cudaDeviceSynchronize(void)
{
    return 0;
}

void *__wrap_device_context(void)
{
    return NULL;
}

static const char fake[] = "tests/fake_cupti.so";
static fake_cupti_open_objects *open_objects;

static int open_fake(void **state)
{
    void *library = dlopen(fake, RTLD_NOW), *symbol;

    (void)state;
    assert_non_null(library);
    symbol = dlsym(library, "fake_open_objects");
    memcpy(&open_objects, &symbol, sizeof symbol);
    return setenv("SMSCOPE_CUPTI", fake, 1);
}

static int reset(void **state)
{
    (void)state;
    return unsetenv("FAKE_CUPTI");
}

/* Runs in a process of its own, where no library is open yet; returns whether the check there held.
 */
static bool elsewhere(bool (*holds)(void))
{
    int status = -1;
    pid_t child = fork();

    if (child == 0)
        _exit(holds() ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool missing_library_is_named(void)
{
    const struct cupti *table;

    setenv("SMSCOPE_CUPTI", "/nowhere/libcupti.so", 1);
    return cupti_get(&table) == FAIL_ENV && strstr(fail_text(), "/nowhere/libcupti.so") &&
           strstr(fail_text(), "SMSCOPE_CUPTI") && cupti_path()[0] == '\0' &&
           cupti_api_version() == 0;
}

static bool senseless_version_is_refused(void)
{
    const struct cupti *table;

    setenv("FAKE_CUPTI", "version=11000", 1);
    return cupti_get(&table) == FAIL_ENV && strstr(fail_text(), "version 11000") &&
           strstr(fail_text(), fake);
}

static bool library_without_ranges_still_traces(void)
{
    static const char *const metrics[] = {"sm__cycles_active.sum"};
    const struct cupti *table;
    struct counters *counters;

    setenv("SMSCOPE_CUPTI", "tests/fake_cupti_old.so", 1);
    return cupti_get(&table) == FAIL_OK && !cupti_has_range() &&
           counters_open(&counters, 0, metrics, 1, 1) == FAIL_ENV && !counters &&
           strstr(fail_text(), "CUDA 12.6");
}

static void library_problems_are_told(void **state)
{
    (void)state;
    assert_true(elsewhere(missing_library_is_named));
    assert_true(elsewhere(senseless_version_is_refused));
    assert_true(elsewhere(library_without_ranges_still_traces));
}

static void versions_become_cuda_releases(void **state)
{
    (void)state;
    assert_int_equal(cupti_cuda_release(130001), 1300);
    assert_int_equal(cupti_cuda_release(130200), 1302);
    assert_int_equal(cupti_cuda_release(28), 1209);
    assert_int_equal(cupti_cuda_release(26), 1208);
    assert_int_equal(cupti_cuda_release(24), 1206);
    assert_int_equal(cupti_cuda_release(18), 1108);
    assert_int_equal(cupti_cuda_release(13), 1100);
    assert_int_equal(cupti_cuda_release(12), 0);
    assert_int_equal(cupti_cuda_release(11000), 0);
    assert_int_equal(cupti_cuda_release(0), 0);
}

static void mixed_copies_are_flagged(void **state)
{
    struct text remedy = TEXT_INIT;

    (void)state;
    assert_int_equal(doctor_cupti_mix(1300, 1300, 1300, &remedy), DOCTOR_OK);
    assert_int_equal(doctor_cupti_mix(1206, 1208, 1204, &remedy), DOCTOR_OK);
    assert_int_equal(doctor_cupti_mix(1300, 1300, 0, &remedy), DOCTOR_OK);
    assert_string_equal(remedy.bytes, "");
    assert_int_equal(doctor_cupti_mix(1300, 1300, 1204, &remedy), DOCTOR_FAIL);
    assert_non_null(strstr(remedy.bytes, "12.4"));
    assert_int_equal(doctor_cupti_mix(1208, 1300, 1300, &remedy), DOCTOR_WARN);
    assert_non_null(strstr(remedy.bytes, "headers of CUDA 13.0"));
    assert_int_equal(doctor_cupti_mix(1108, 1108, 1300, &remedy), DOCTOR_WARN);
    assert_non_null(strstr(remedy.bytes, "older than the driver"));
    text_free(&remedy);
}

#ifdef HAVE_CUPTI_RANGE

static int nothing_left_open(void **state)
{
    (void)state;
    return open_objects();
}

/* Lengths of the names: 1, 7, 14, 2, 6, 3. */
static const char *const metrics[] = {"a", "unknown", "second_pass_xx", "bb", "inf_xx", "ccc"};
enum { METRICS = 6 };

static void push_and_pop(struct counters *counters, int times)
{
    for (int i = 0; i < times; i++) {
        assert_int_equal(counters_push(counters, "same name"), FAIL_OK);
        assert_int_equal(counters_pop(counters, NULL), FAIL_OK);
    }
}

static void metrics_that_do_not_fit_are_left_out(void **state)
{
    struct counters *counters;
    double values[4 * METRICS];
    size_t ranges;

    (void)state;
    assert_int_equal(counters_open(&counters, 0, metrics, METRICS, 4), FAIL_OK);
    /* Three reads of one session, and a range that was never pushed is not missed. */
    for (int read = 0; read < 3; read++) {
        size_t pushed = read == 1 ? 4 : 2;

        push_and_pop(counters, (int)pushed);
        assert_int_equal(counters_read(counters, values, &ranges), FAIL_OK);
        assert_int_equal(ranges, pushed);
        for (size_t r = 0; r < pushed; r++) {
            const double *row = values + r * METRICS;
            double base = 100.0 * (double)(r + 1);

            assert_true(row[0] == base + 1);
            assert_true(isnan(row[1]));
            assert_true(isnan(row[2]));
            assert_true(row[3] == base + 2);
            assert_true(isnan(row[4])); /* infinite is not a measurement */
            assert_true(row[5] == base + 3);
        }
    }
    assert_int_equal(counters_read(counters, values, &ranges), FAIL_OK);
    assert_int_equal(ranges, 0);
    counters_close(counters);
}

static void order_is_priority(void **state)
{
    static const char *const second_first[] = {"second_pass", "a"};
    struct counters *counters;
    double values[2];
    size_t ranges;

    (void)state;
    assert_int_equal(counters_open(&counters, 0, second_first, 2, 1), FAIL_OK);
    push_and_pop(counters, 1);
    assert_int_equal(counters_read(counters, values, &ranges), FAIL_OK);
    assert_true(values[0] == 111);
    assert_true(isnan(values[1]));
    counters_close(counters);
}

static void one_bad_metric_spoils_no_other(void **state)
{
    static const char *const names[] = {"nan", "uncomputable", "good"};
    struct counters *counters;
    double values[3];
    size_t ranges;

    (void)state;
    assert_int_equal(counters_open(&counters, 0, names, 3, 1), FAIL_OK);
    push_and_pop(counters, 1);
    assert_int_equal(counters_read(counters, values, &ranges), FAIL_OK);
    assert_true(isnan(values[0]));
    assert_true(isnan(values[1]));
    assert_true(values[2] == 104);
    counters_close(counters);
}

/* Wherever opening fails, what was opened is closed again: the next session must not meet a busy
 * GPU. */
static void every_failure_leaves_nothing_open(void **state)
{
    static const char *const calls[] = {"cuptiProfilerInitialize",
                                        "cuptiDeviceGetChipName",
                                        "cuptiProfilerGetCounterAvailability",
                                        "cuptiProfilerHostInitialize",
                                        "cuptiProfilerHostConfigAddMetrics",
                                        "cuptiProfilerHostGetConfigImageSize",
                                        "cuptiProfilerHostGetConfigImage",
                                        "cuptiProfilerHostGetNumOfPasses",
                                        "cuptiRangeProfilerEnable",
                                        "cuptiRangeProfilerGetCounterDataSize",
                                        "cuptiRangeProfilerCounterDataImageInitialize",
                                        "cuptiRangeProfilerSetConfig",
                                        "cuptiRangeProfilerStart"};
    struct counters *counters;

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct text wanted = TEXT_INIT;

        text_addf(&wanted, "%s=35", calls[i]);
        setenv("FAKE_CUPTI", wanted.bytes, 1);
        assert_int_equal(counters_open(&counters, 0, metrics, METRICS, 1), FAIL_ENV);
        assert_null(counters);
        assert_int_equal(open_objects(), 0);
        assert_non_null(strstr(fail_text(), "(35)"));
        assert_non_null(strstr(fail_text(), "NVreg_RestrictProfilingToAdminUsers=0"));
        assert_non_null(strstr(fail_text(), "CAP_SYS_ADMIN"));
        text_free(&wanted);
        unsetenv("FAKE_CUPTI");
        assert_int_equal(counters_open(&counters, 0, metrics, METRICS, 1), FAIL_OK);
        counters_close(counters);
    }
}

static void causes_have_their_remedies(void **state)
{
    static const struct {
        const char *setting, *text;
    } cases[] = {
        {"cuptiRangeProfilerEnable=26", "dcgmi profile --pause"},
        {"cuptiRangeProfilerEnable=39", "another profiler is attached"},
        {"cuptiRangeProfilerEnable=40", "hypervisor"},
        {"cuptiProfilerHostInitialize=15", "libnvperf_host.so"},
        {"passes=0", "plans 0 passes"},
        {"passes=2", "plans 2 passes"},
    };
    struct counters *counters;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        setenv("FAKE_CUPTI", cases[i].setting, 1);
        assert_int_equal(counters_open(&counters, 0, metrics, 1, 1), FAIL_ENV);
        assert_non_null(strstr(fail_text(), cases[i].text));
    }
}

static void a_session_left_inside_a_range_closes(void **state)
{
    struct counters *counters;
    double values[METRICS];
    size_t ranges;
    int failed_launch;

    (void)state;
    assert_int_equal(counters_open(&counters, 0, metrics, METRICS, 2), FAIL_OK);
    assert_int_equal(counters_push(counters, "left open"), FAIL_OK);
    counters_close(counters);
    assert_int_equal(open_objects(), 0);

    assert_int_equal(counters_open(&counters, 0, metrics, METRICS, 1), FAIL_OK);
    assert_int_equal(counters_push(counters, "main"), FAIL_OK);
    assert_int_equal(counters_pop(counters, &failed_launch), FAIL_DEVICE);
    assert_int_equal(counters_push(counters, "too many"), FAIL_DEVICE);
    assert_non_null(strstr(fail_text(), "too many"));
    setenv("FAKE_CUPTI", "cuptiRangeProfilerDecodeData=9", 1);
    assert_int_equal(counters_read(counters, values, &ranges), FAIL_ENV);
    assert_true(isnan(values[0]));
    counters_close(counters);
    counters_close(NULL);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(library_problems_are_told, reset),
        cmocka_unit_test_setup(versions_become_cuda_releases, reset),
        cmocka_unit_test_setup(mixed_copies_are_flagged, reset),
#ifdef HAVE_CUPTI_RANGE
        cmocka_unit_test_setup_teardown(every_failure_leaves_nothing_open, reset,
                                        nothing_left_open),
        cmocka_unit_test_setup_teardown(causes_have_their_remedies, reset, nothing_left_open),
        cmocka_unit_test_setup_teardown(metrics_that_do_not_fit_are_left_out, reset,
                                        nothing_left_open),
        cmocka_unit_test_setup_teardown(order_is_priority, reset, nothing_left_open),
        cmocka_unit_test_setup_teardown(one_bad_metric_spoils_no_other, reset, nothing_left_open),
        cmocka_unit_test_setup_teardown(a_session_left_inside_a_range_closes, reset,
                                        nothing_left_open),
#endif
    };

    return cmocka_run_group_tests(tests, open_fake, NULL);
}
