#include "gpu/counters.h"

#include "base/fail.h"

#ifdef HAVE_CUPTI_RANGE

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "base/mem.h"
#include "gpu/cupti.h"
#include "gpu/device.h"
#include "gpu/schedule.h"

struct counters {
    const struct cupti *cupti;
    struct schedule schedule;
    size_t count; /* metrics asked for */
    uint8_t *image;
    size_t image_bytes, max_ranges, pushed;
    CUpti_RangeProfiler_Object *profiler;
    char (*names)[16]; /* of the ranges; CUPTI may read them until the session is decoded */
    bool started, inside;
};

/* What the chip is, and which of its counters this user may have: the first
 * call that notices missing privileges. */
static int look_at_chip(struct counters *counters, int ordinal, CUcontext context)
{
    static bool initialised;
    CUpti_Profiler_Initialize_Params initialise = CUPTI_PARAMS(CUpti_Profiler_Initialize_Params);
    CUpti_Device_GetChipName_Params chip = CUPTI_PARAMS(CUpti_Device_GetChipName_Params);
    CUpti_Profiler_GetCounterAvailability_Params available =
        CUPTI_PARAMS(CUpti_Profiler_GetCounterAvailability_Params);

    if (!initialised)
        CUPTI_TRY(counters->cupti, cuptiProfilerInitialize, &initialise);
    initialised = true;
    chip.deviceIndex = (size_t)ordinal;
    CUPTI_TRY(counters->cupti, cuptiDeviceGetChipName, &chip);
    counters->schedule.chip = mem_strdup(chip.pChipName);
    available.ctx = context;
    CUPTI_TRY(counters->cupti, cuptiProfilerGetCounterAvailability, &available);
    counters->schedule.availability = mem_new(available.counterAvailabilityImageSize, 1);
    available.pCounterAvailabilityImage = counters->schedule.availability;
    CUPTI_TRY(counters->cupti, cuptiProfilerGetCounterAvailability, &available);
    return FAIL_OK;
}

static int enable(struct counters *counters, CUcontext context)
{
    CUpti_RangeProfiler_Enable_Params on = CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params);
    CUpti_RangeProfiler_GetCounterDataSize_Params size =
        CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);

    on.ctx = context;
    CUPTI_TRY(counters->cupti, cuptiRangeProfilerEnable, &on);
    counters->profiler = on.pRangeProfilerObject;
    size.pRangeProfilerObject = counters->profiler;
    size.pMetricNames = counters->schedule.names;
    size.numMetrics = counters->schedule.count;
    size.maxNumOfRanges = counters->max_ranges;
    size.maxNumRangeTreeNodes = (uint32_t)counters->max_ranges;
    CUPTI_TRY(counters->cupti, cuptiRangeProfilerGetCounterDataSize, &size);
    counters->image_bytes = size.counterDataSize;
    counters->image = mem_new(size.counterDataSize, 1);
    return FAIL_OK;
}

/* An empty counter image, and collection on. */
static int start(struct counters *counters)
{
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params image =
        CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    CUpti_RangeProfiler_SetConfig_Params config =
        CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
    CUpti_RangeProfiler_Start_Params on = CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params);

    image.pRangeProfilerObject = counters->profiler;
    image.counterDataSize = counters->image_bytes;
    image.pCounterData = counters->image;
    CUPTI_TRY(counters->cupti, cuptiRangeProfilerCounterDataImageInitialize, &image);
    config.pRangeProfilerObject = counters->profiler;
    config.configSize = counters->schedule.config_bytes;
    config.pConfig = counters->schedule.config;
    config.counterDataImageSize = counters->image_bytes;
    config.pCounterDataImage = counters->image;
    config.range = CUPTI_UserRange;
    config.replayMode = CUPTI_UserReplay;
    config.maxRangesPerPass = counters->max_ranges;
    config.numNestingLevels = 1;
    config.minNestingLevel = 1;
    config.passIndex = 0;
    config.targetNestingLevel = 1;
    CUPTI_TRY(counters->cupti, cuptiRangeProfilerSetConfig, &config);
    on.pRangeProfilerObject = counters->profiler;
    CUPTI_TRY(counters->cupti, cuptiRangeProfilerStart, &on);
    counters->started = true;
    return FAIL_OK;
}

static int open_session(struct counters *counters, int ordinal, const char *const *metrics)
{
    CUcontext context = device_context();
    int code = look_at_chip(counters, ordinal, context);

    if (code == FAIL_OK)
        code = schedule_make(&counters->schedule, metrics, counters->count);
    if (code == FAIL_OK)
        code = enable(counters, context);
    if (code == FAIL_OK)
        code = start(counters);
    return code;
}

int counters_open(struct counters **counters, int ordinal, const char *const *metrics, size_t count,
                  size_t max_ranges)
{
    const struct cupti *cupti;
    struct counters *made;
    int code = cupti_get(&cupti);

    *counters = NULL;
    if (code != FAIL_OK)
        return code;
    if (!cupti->has_range)
        return fail_set(FAIL_ENV,
                        "counters: %s has no range profiler; use CUPTI of CUDA 12.6 or newer",
                        cupti_path());
    made = mem_new(1, sizeof *made);
    made->cupti = cupti;
    made->schedule.cupti = cupti;
    made->count = count;
    made->max_ranges = max_ranges;
    made->names = mem_new(max_ranges, sizeof *made->names);
    code = open_session(made, ordinal, metrics);
    if (code != FAIL_OK) {
        counters_close(made);
        return fail_prefix("counters");
    }
    *counters = made;
    return FAIL_OK;
}

int counters_push(struct counters *counters, const char *range_name)
{
    CUpti_RangeProfiler_PushRange_Params push = CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params);
    CUptiResult result;
    int waited;

    if (counters->pushed >= counters->max_ranges)
        return fail_set(FAIL_DEVICE,
                        "counters: range %s is one more than the %zu the session was opened for",
                        range_name, counters->max_ranges);
    if (!counters->started && start(counters) != FAIL_OK)
        return fail_prefix("counters");
    /* What runs already, such as a flush of L2, must not be counted. */
    waited = (int)cudaDeviceSynchronize();
    if (waited != cudaSuccess)
        return device_check(waited, "work before a counter range");
    /* CUPTI adds ranges of one name together, so each gets its number. */
    snprintf(counters->names[counters->pushed], sizeof counters->names[0], "%zu", counters->pushed);
    push.pRangeProfilerObject = counters->profiler;
    push.pRangeName = counters->names[counters->pushed];
    result = counters->cupti->cuptiRangeProfilerPushRange(&push);
    if (result != CUPTI_SUCCESS) {
        (void)cupti_fail((int)result, "cuptiRangeProfilerPushRange");
        return fail_prefix("counters: range %s", range_name);
    }
    counters->inside = true;
    counters->pushed++;
    return FAIL_OK;
}

/* Ends the open range, if there is one. */
static CUptiResult leave(struct counters *counters)
{
    CUpti_RangeProfiler_PopRange_Params pop = CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params);

    if (!counters->inside)
        return CUPTI_SUCCESS;
    counters->inside = false;
    pop.pRangeProfilerObject = counters->profiler;
    return counters->cupti->cuptiRangeProfilerPopRange(&pop);
}

int counters_pop(struct counters *counters, void *stream)
{
    int waited = (int)cudaStreamSynchronize((cudaStream_t)stream);
    CUptiResult result = leave(counters);

    if (waited != cudaSuccess)
        return device_check(waited, "a launch in a counter range");
    if (result != CUPTI_SUCCESS)
        return cupti_fail((int)result, "cuptiRangeProfilerPopRange");
    return FAIL_OK;
}

/* Ends collection, if it is on. */
static CUptiResult stop(struct counters *counters, bool *complete)
{
    CUpti_RangeProfiler_Stop_Params off = CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params);
    CUptiResult left = leave(counters);
    CUptiResult result = CUPTI_SUCCESS;

    if (counters->started) {
        off.pRangeProfilerObject = counters->profiler;
        result = counters->cupti->cuptiRangeProfilerStop(&off);
        counters->started = false;
    }
    *complete = off.isAllPassSubmitted != 0;
    return left != CUPTI_SUCCESS ? left : result;
}

/* Values of one decoded range into the row that its name tells. */
static void evaluate(struct counters *counters, size_t index, double *values)
{
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params info =
        CUPTI_PARAMS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
    size_t i, row;
    char *end;

    info.pCounterDataImage = counters->image;
    info.counterDataImageSize = counters->image_bytes;
    info.rangeIndex = index;
    info.rangeDelimiter = "/";
    if (counters->cupti->cuptiRangeProfilerCounterDataGetRangeInfo(&info) != CUPTI_SUCCESS ||
        !info.rangeName)
        return;
    row = strtoul(info.rangeName, &end, 10);
    if (end == info.rangeName || *end || row >= counters->pushed)
        return;
    for (i = 0; i < counters->schedule.count; i++)
        values[row * counters->count + counters->schedule.column[i]] =
            schedule_value(&counters->schedule, counters->image, counters->image_bytes, index, i);
}

static int decode(struct counters *counters, double *values)
{
    CUpti_RangeProfiler_DecodeData_Params data =
        CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
    CUpti_RangeProfiler_GetCounterDataInfo_Params info =
        CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataInfo_Params);
    size_t i;

    data.pRangeProfilerObject = counters->profiler;
    CUPTI_TRY(counters->cupti, cuptiRangeProfilerDecodeData, &data);
    info.pCounterDataImage = counters->image;
    info.counterDataImageSize = counters->image_bytes;
    CUPTI_TRY(counters->cupti, cuptiRangeProfilerGetCounterDataInfo, &info);
    for (i = 0; i < info.numTotalRanges; i++)
        evaluate(counters, i, values);
    return FAIL_OK;
}

int counters_read(struct counters *counters, double *values, size_t *ranges)
{
    CUptiResult result;
    bool complete;
    int code = FAIL_OK;
    size_t i;

    *ranges = counters->pushed;
    for (i = 0; i < counters->pushed * counters->count; i++)
        values[i] = NAN;
    result = stop(counters, &complete);
    if (result != CUPTI_SUCCESS)
        code = cupti_fail((int)result, "cuptiRangeProfilerStop");
    else if (counters->pushed > 0 && !complete)
        code = fail_set(FAIL_ENV, "CUPTI planned one pass and now wants more");
    else if (counters->pushed > 0)
        code = decode(counters, values);
    counters->pushed = 0;
    return code == FAIL_OK ? FAIL_OK : fail_prefix("counters");
}

void counters_close(struct counters *counters)
{
    CUpti_RangeProfiler_Disable_Params off = CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params);
    bool complete;

    if (!counters)
        return;
    (void)stop(counters, &complete);
    if (counters->profiler) {
        off.pRangeProfilerObject = counters->profiler;
        (void)counters->cupti->cuptiRangeProfilerDisable(&off);
    }
    schedule_free(&counters->schedule);
    free(counters->names);
    free(counters->image);
    free(counters);
}

#else

int counters_open(struct counters **counters, int ordinal, const char *const *metrics, size_t count,
                  size_t max_ranges)
{
    (void)ordinal, (void)metrics, (void)count, (void)max_ranges;
    *counters = NULL;
    return fail_set(
        FAIL_ENV,
        "counters: this program was built without CUPTI's range profiler; build it with CUDA 12.6 "
        "or newer");
}

int counters_push(struct counters *counters, const char *range_name)
{
    (void)counters;
    return fail_set(FAIL_ENV, "counters: range %s: no session", range_name);
}

int counters_pop(struct counters *counters, void *stream)
{
    (void)counters, (void)stream;
    return fail_set(FAIL_ENV, "counters: no session");
}

int counters_read(struct counters *counters, double *values, size_t *ranges)
{
    (void)counters, (void)values;
    *ranges = 0;
    return fail_set(FAIL_ENV, "counters: no session");
}

void counters_close(struct counters *counters)
{
    (void)counters;
}

#endif
