#include "gpu/doctor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "base/fail.h"
#include "gpu/activity.h"
#include "gpu/counters.h"
#include "gpu/cupti.h"
#include "gpu/device.h"
#include "gpu/flush.h"
#include "gpu/nvml.h"

enum { TRIAL_BYTES = 1 << 20, TRIAL_BLOCKS = 7 };

struct check {
    doctor_report *report;
    void *user;
};

static void tell(const struct check *check, const char *name, enum doctor_verdict verdict,
                 const struct text *found, const char *remedy)
{
    check->report(check->user, name, verdict, found->bytes, remedy);
}

static void add_release(struct text *text, int release)
{
    if (release > 0)
        text_addf(text, "%d.%d", release / 100, release % 100);
    else
        text_add(text, "unknown");
}

enum doctor_verdict doctor_cupti_mix(int library, int header, int driver, struct text *remedy)
{
    int major = library / 100, wanted = header / 100;

    text_clear(remedy);
    if (driver > 0 && major > driver / 100) {
        text_add(remedy, "CUPTI is newer than the driver, which knows CUDA ");
        add_release(remedy, driver);
        text_add(remedy, "; update the driver, or set SMSCOPE_CUPTI to a copy of its release");
        return DOCTOR_FAIL;
    }
    if (major != wanted) {
        text_add(remedy, "this program was built with the CUPTI headers of CUDA ");
        add_release(remedy, header);
        text_add(remedy, "; set SMSCOPE_CUPTI to libcupti.so of that release");
        return DOCTOR_WARN;
    }
    if (driver > 0 && major < driver / 100) {
        text_add(remedy, "CUPTI is older than the driver, which knows CUDA ");
        add_release(remedy, driver);
        text_add(remedy, ", and may see nothing of a new GPU; install CUPTI of that release");
        return DOCTOR_WARN;
    }
    return DOCTOR_OK;
}

/* Returns whether there is a CUPTI to try. */
static bool check_cupti(const struct check *check, bool needed)
{
    const struct cupti *table;
    struct text found = TEXT_INIT, remedy = TEXT_INIT;
    const char *chosen = getenv("SMSCOPE_CUPTI");
    bool usable = cupti_get(&table) == FAIL_OK;
    int release = cupti_cuda_release(cupti_api_version()), driver = 0;
    enum doctor_verdict verdict;

    if (usable) {
        (void)cudaDriverGetVersion(&driver);
        verdict = doctor_cupti_mix(release, cupti_cuda_release(cupti_header_version()), driver / 10,
                                   &remedy);
        text_addf(&found, "%s, CUDA ", cupti_path());
        add_release(&found, release);
        text_addf(&found, " (API %u; headers %u)", cupti_api_version(), cupti_header_version());
        if (!cupti_has_range())
            text_add(&found, ", no range profiler");
    } else {
        verdict = needed || (chosen && chosen[0]) ? DOCTOR_FAIL : DOCTOR_OFF;
        text_add(&found, "not usable");
        text_add(&remedy, fail_text());
    }
    tell(check, "CUPTI", verdict, &found, remedy.bytes);
    text_free(&found);
    text_free(&remedy);
    return usable;
}

static void check_nvml(const struct check *check, const struct device *device)
{
    struct text found = TEXT_INIT;
    struct nvml_state state;
    const char *why, *slowed_by;

    if (!nvml_available(&why)) {
        text_add(&found, "not usable: clocks, power and throttling are not seen");
        tell(check, "NVML", DOCTOR_WARN, &found, why);
    } else if (device) {
        nvml_read(device->uuid, &state);
        text_add(&found, "SM clock ");
        text_add_fixed(&found, state.sm_clock_mhz, 0);
        text_add(&found, " MHz, ");
        text_add_fixed(&found, state.power_w, 0);
        text_add(&found, " W, ");
        text_add_fixed(&found, state.temperature_c, 0);
        slowed_by = nvml_reasons_text(state.throttle_reasons);
        text_addf(&found, " C, slowed by: %s", slowed_by[0] ? slowed_by : "nothing");
        tell(check, "NVML", state.valid ? DOCTOR_OK : DOCTOR_WARN, &found,
             state.valid ? ""
                         : "NVML does not know this GPU by its UUID, or not why its clock changes");
    }
    text_free(&found);
}

/* One launch must give one record with a sane time. */
static void check_trace(const struct check *check, const void *buffer)
{
    struct activity_list list = {0};
    struct text found = TEXT_INIT;
    int code = activity_start();

    if (code == FAIL_OK) {
        int launched =
            device_check(flush_launch(buffer, TRIAL_BYTES, TRIAL_BLOCKS, NULL), "launch");
        int waited = device_check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");

        code = activity_stop(&list);
        code = launched != FAIL_OK ? launched : waited != FAIL_OK ? waited : code;
    }
    if (code != FAIL_OK) {
        text_add(&found, "kernel times are refused");
        tell(check, "kernel trace", DOCTOR_FAIL, &found, fail_text());
    } else if (list.count != 1 || activity_lost(&list.losses) > 0) {
        text_addf(&found, "1 launch, %zu records, %llu lost", list.count,
                  (unsigned long long)activity_lost(&list.losses));
        tell(
            check, "kernel trace", DOCTOR_FAIL, &found,
            "use the CUPTI of the toolkit that matches the driver, or run without other profilers");
    } else {
        text_addf(&found, "1 launch, 1 record of %.1f us",
                  (double)(list.records[0].end_ns - list.records[0].start_ns) / 1e3);
        tell(check, "kernel trace", DOCTOR_OK, &found, "");
    }
    activity_free(&list);
    text_free(&found);
}

/* Blocks and SM clock of one launch of TRIAL_BLOCKS blocks. */
static int count_once(const void *buffer, int ordinal, double values[2])
{
    static const char *const metrics[] = {"sm__ctas_launched.sum",
                                          "gpc__cycles_elapsed.avg.per_second"};
    struct counters *counters;
    size_t ranges;
    int code = counters_open(&counters, ordinal, metrics, 2, 1);

    if (code == FAIL_OK)
        code = counters_push(counters, "trial");
    if (code == FAIL_OK) {
        int launched =
            device_check(flush_launch(buffer, TRIAL_BYTES, TRIAL_BLOCKS, NULL), "launch");

        code = counters_pop(counters, NULL);
        code = launched != FAIL_OK ? launched : code;
    }
    if (code == FAIL_OK)
        code = counters_read(counters, values, &ranges);
    counters_close(counters);
    return code;
}

static void check_counters(const struct check *check, const void *buffer, int ordinal)
{
    double values[2] = {NAN, NAN};
    struct text found = TEXT_INIT;

    if (count_once(buffer, ordinal, values) != FAIL_OK) {
        text_add(&found, "refused: times are measured, occupancy stays empty");
        tell(check, "counters", DOCTOR_FAIL, &found, fail_text());
    } else {
        bool exact = values[0] == TRIAL_BLOCKS;

        text_addf(&found, "%d blocks launched, ", TRIAL_BLOCKS);
        text_add_fixed(&found, values[0], 0);
        text_add(&found, " counted, SM clock ");
        text_add_fixed(&found, values[1] / 1e6, 0);
        text_add(&found, " MHz");
        tell(
            check, "counters", exact ? DOCTOR_OK : DOCTOR_FAIL, &found,
            exact
                ? ""
                : "the counters tell wrong numbers; use the CUPTI of the toolkit that matches the driver");
    }
    text_free(&found);
}

static bool check_launch(const struct check *check, void **buffer)
{
    struct text found = TEXT_INIT;
    int code = device_check((int)cudaMalloc(buffer, TRIAL_BYTES), "cudaMalloc");

    if (code == FAIL_OK)
        code = device_check((int)cudaMemset(*buffer, 0, TRIAL_BYTES), "cudaMemset");
    if (code == FAIL_OK)
        code = device_check(flush_launch(*buffer, TRIAL_BYTES, TRIAL_BLOCKS, NULL), "launch");
    if (code == FAIL_OK)
        code = device_check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    text_add(&found, code == FAIL_OK ? "a trial kernel ran" : "a trial kernel failed");
    tell(check, "kernels", code == FAIL_OK ? DOCTOR_OK : DOCTOR_FAIL, &found,
         code == FAIL_OK ? "" : fail_text());
    text_free(&found);
    return code == FAIL_OK;
}

static bool check_device(const struct check *check, struct device *device, int ordinal)
{
    struct text found = TEXT_INIT;
    bool usable = device_open(device, ordinal) == FAIL_OK;

    if (usable) {
        text_addf(
            &found,
            "%d: %s, compute capability %d.%d, %d SMs, %.1f of %.1f GB free, driver %s (CUDA %s), CUDA runtime %s",
            ordinal, device->spec.name, device->spec.cc_major, device->spec.cc_minor,
            device->spec.sm_count, (double)device->memory_free_bytes / 1e9,
            (double)device->memory_bytes / 1e9, device->driver[0] ? device->driver : "unknown",
            device->cuda_driver, device->cuda_runtime);
        tell(check, "GPU", DOCTOR_OK, &found, "");
    } else {
        text_addf(&found, "%d: not usable", ordinal);
        tell(check, "GPU", DOCTOR_FAIL, &found, fail_text());
    }
    text_free(&found);
    return usable;
}

bool doctor_gpu(int ordinal, bool asked, doctor_report *report, void *user)
{
    const struct check check = {report, user};
    struct device device;
    void *buffer = NULL;
    const char *why;
    bool usable;

    if (device_count(&why) == 0) {
        report(user, "GPU", asked ? DOCTOR_FAIL : DOCTOR_OFF, "none", why);
        (void)check_cupti(&check, asked);
        return false;
    }
    usable = check_device(&check, &device, ordinal);
    check_nvml(&check, usable ? &device : NULL);
    usable = usable && check_launch(&check, &buffer);
    if (check_cupti(&check, true) && usable) {
        check_trace(&check, buffer);
        check_counters(&check, buffer, ordinal);
    }
    if (buffer)
        (void)cudaFree(buffer);
    device_close(&device);
    return usable;
}
