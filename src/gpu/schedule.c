#include "gpu/cupti.h"

#ifdef HAVE_CUPTI_RANGE

#include "gpu/schedule.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/mem.h"

/* Some metrics on a host object of their own, to see what they need. */
struct trial {
    CUpti_Profiler_Host_Object *host;
    uint8_t *config;
    size_t config_bytes;
    size_t passes;       /* 0: refused */
    CUptiResult refusal; /* of the call that refused */
};

static void trial_free(const struct schedule *schedule, struct trial *trial)
{
    CUpti_Profiler_Host_Deinitialize_Params off =
        CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params);

    if (trial->host) {
        off.pHostObject = trial->host;
        (void)schedule->cupti->cuptiProfilerHostDeinitialize(&off);
    }
    free(trial->config);
    memset(trial, 0, sizeof *trial);
}

/* Configuration image and pass count of the metrics on trial->host. */
static CUptiResult trial_image(const struct schedule *schedule, struct trial *trial)
{
    CUpti_Profiler_Host_GetConfigImageSize_Params size =
        CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params);
    CUpti_Profiler_Host_GetConfigImage_Params image =
        CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params);
    CUpti_Profiler_Host_GetNumOfPasses_Params passes =
        CUPTI_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params);
    CUptiResult result;

    size.pHostObject = trial->host;
    result = schedule->cupti->cuptiProfilerHostGetConfigImageSize(&size);
    if (result != CUPTI_SUCCESS)
        return result;
    trial->config_bytes = size.configImageSize;
    trial->config = mem_new(size.configImageSize, 1);
    image.pHostObject = trial->host;
    image.configImageSize = trial->config_bytes;
    image.pConfigImage = trial->config;
    result = schedule->cupti->cuptiProfilerHostGetConfigImage(&image);
    if (result != CUPTI_SUCCESS)
        return result;
    passes.configImageSize = trial->config_bytes;
    passes.pConfigImage = trial->config;
    result = schedule->cupti->cuptiProfilerHostGetNumOfPasses(&passes);
    if (result == CUPTI_SUCCESS)
        trial->passes = passes.numOfPasses;
    return result;
}

/* Tries the first `count` of schedule->names; fails only where no metric at all could be tried. */
static int trial_make(const struct schedule *schedule, size_t count, struct trial *trial)
{
    CUpti_Profiler_Host_Initialize_Params host =
        CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params);
    CUpti_Profiler_Host_ConfigAddMetrics_Params add =
        CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params);

    memset(trial, 0, sizeof *trial);
    host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    host.pChipName = schedule->chip;
    host.pCounterAvailabilityImage = schedule->availability;
    CUPTI_TRY(schedule->cupti, cuptiProfilerHostInitialize, &host);
    trial->host = host.pHostObject;
    add.pHostObject = trial->host;
    add.ppMetricNames = schedule->names;
    add.numMetrics = count;
    trial->refusal = schedule->cupti->cuptiProfilerHostConfigAddMetrics(&add);
    if (trial->refusal == CUPTI_SUCCESS)
        trial->refusal = trial_image(schedule, trial);
    return FAIL_OK;
}

/* Hands a trial's objects over to the schedule, in place of those it has. */
static void adopt(struct schedule *schedule, struct trial *trial)
{
    struct trial before = {.host = schedule->host, .config = schedule->config};

    trial_free(schedule, &before);
    schedule->host = trial->host;
    schedule->config = trial->config;
    schedule->config_bytes = trial->config_bytes;
    memset(trial, 0, sizeof *trial);
}

static int none_possible(const struct trial *last)
{
    if (last->refusal != CUPTI_SUCCESS)
        return cupti_fail((int)last->refusal, "none of the counters can be measured: the last");
    return fail_set(
        FAIL_ENV,
        "none of the counters can be measured: CUPTI plans %zu passes for each, not one; use the "
        "CUPTI of the toolkit that matches the driver",
        last->passes);
}

/* Adds the metrics one by one and keeps those that still fit one pass. */
static int take_greedily(struct schedule *schedule, const char *const *metrics, size_t count)
{
    struct trial trial;
    int code = FAIL_OK;
    size_t i;

    memset(&trial, 0, sizeof trial);
    for (i = 0; i < count && code == FAIL_OK; i++) {
        trial_free(schedule, &trial);
        schedule->names[schedule->count] = metrics[i];
        code = trial_make(schedule, schedule->count + 1, &trial);
        if (code == FAIL_OK && trial.passes == 1) {
            adopt(schedule, &trial);
            schedule->column[schedule->count++] = i;
        }
    }
    if (code == FAIL_OK && schedule->count == 0)
        code = none_possible(&trial);
    trial_free(schedule, &trial);
    return code;
}

int schedule_make(struct schedule *schedule, const char *const *metrics, size_t count)
{
    struct trial trial;
    int code;
    size_t i;

    schedule->names = mem_new(count, sizeof *schedule->names);
    schedule->column = mem_new(count, sizeof *schedule->column);
    for (i = 0; i < count; i++) {
        schedule->names[i] = metrics[i];
        schedule->column[i] = i;
    }
    code = trial_make(schedule, count, &trial); /* all at once: the common case, and quick */
    if (code == FAIL_OK && trial.passes == 1) {
        adopt(schedule, &trial);
        schedule->count = count;
    } else if (code == FAIL_OK) {
        trial_free(schedule, &trial);
        code = take_greedily(schedule, metrics, count);
    }
    return code;
}

void schedule_free(struct schedule *schedule)
{
    struct trial last = {.host = schedule->host, .config = schedule->config};

    trial_free(schedule, &last);
    free(schedule->chip);
    free(schedule->availability);
    free(schedule->names);
    free(schedule->column);
    memset(schedule, 0, sizeof *schedule);
}

double schedule_value(const struct schedule *schedule, const uint8_t *image, size_t image_bytes,
                      size_t range, size_t metric)
{
    CUpti_Profiler_Host_EvaluateToGpuValues_Params gpu =
        CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    double value = NAN;

    gpu.pHostObject = schedule->host;
    gpu.pCounterDataImage = image;
    gpu.counterDataImageSize = image_bytes;
    gpu.rangeIndex = range;
    gpu.ppMetricNames = &schedule->names[metric];
    gpu.numMetrics = 1; /* one that cannot be computed must not take the others with it */
    gpu.pMetricValues = &value;
    if (schedule->cupti->cuptiProfilerHostEvaluateToGpuValues(&gpu) != CUPTI_SUCCESS ||
        !isfinite(value))
        return (double)NAN;
    return value;
}

#endif
