/*
 * cupti_table: the CUPTI functions that smscope calls, as pointers.  Only for files under
 * HAVE_CUPTI.
 *
 * A library that lacks one of the first list is refused; one that lacks any of the second (before
 * CUDA 12.6) is used for the Activity API alone.
 */
#ifndef GPU_CUPTI_TABLE_H
#define GPU_CUPTI_TABLE_H

#include <stdbool.h>

#include <cupti.h>
#ifdef HAVE_CUPTI_RANGE
#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#endif

#define CUPTI_ACTIVITY_FUNCTIONS(X)   \
    X(cuptiGetVersion)                \
    X(cuptiGetResultString)           \
    X(cuptiGetTimestamp)              \
    X(cuptiActivityRegisterCallbacks) \
    X(cuptiActivityEnable)            \
    X(cuptiActivityDisable)           \
    X(cuptiActivityFlushAll)          \
    X(cuptiActivityGetNextRecord)     \
    X(cuptiActivityGetNumDroppedRecords)

#ifdef HAVE_CUPTI_RANGE
#define CUPTI_RANGE_FUNCTIONS(X)                    \
    X(cuptiProfilerInitialize)                      \
    X(cuptiProfilerGetCounterAvailability)          \
    X(cuptiDeviceGetChipName)                       \
    X(cuptiProfilerHostInitialize)                  \
    X(cuptiProfilerHostDeinitialize)                \
    X(cuptiProfilerHostConfigAddMetrics)            \
    X(cuptiProfilerHostGetConfigImageSize)          \
    X(cuptiProfilerHostGetConfigImage)              \
    X(cuptiProfilerHostGetNumOfPasses)              \
    X(cuptiProfilerHostEvaluateToGpuValues)         \
    X(cuptiRangeProfilerEnable)                     \
    X(cuptiRangeProfilerDisable)                    \
    X(cuptiRangeProfilerSetConfig)                  \
    X(cuptiRangeProfilerStart)                      \
    X(cuptiRangeProfilerStop)                       \
    X(cuptiRangeProfilerPushRange)                  \
    X(cuptiRangeProfilerPopRange)                   \
    X(cuptiRangeProfilerDecodeData)                 \
    X(cuptiRangeProfilerGetCounterDataSize)         \
    X(cuptiRangeProfilerCounterDataImageInitialize) \
    X(cuptiRangeProfilerGetCounterDataInfo)         \
    X(cuptiRangeProfilerCounterDataGetRangeInfo)
#else
#define CUPTI_RANGE_FUNCTIONS(X)
#endif

#define CUPTI_POINTER(name) __typeof__(name) *name;

struct cupti {
    CUPTI_ACTIVITY_FUNCTIONS(CUPTI_POINTER)
    CUPTI_RANGE_FUNCTIONS(CUPTI_POINTER)
    uint32_t version; /* cuptiGetVersion() */
    bool has_range;   /* every function of the second list is there */
};

/* A parameter struct, empty but for its size, by which CUPTI knows the caller's version. */
#define CUPTI_PARAMS(type)               \
    {                                    \
        .structSize = type##_STRUCT_SIZE \
    }

/* Calls a function of the table; the calling function fails with its name. */
#define CUPTI_TRY(table, function, params)                 \
    do {                                                   \
        CUptiResult cupti_try = (table)->function(params); \
        if (cupti_try != CUPTI_SUCCESS)                    \
            return cupti_fail((int)cupti_try, #function);  \
    } while (0)

#endif
