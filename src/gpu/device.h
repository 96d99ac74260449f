/*
 * device: one CUDA device as smscope sees it.  Included by src/gpu, the passes, and commands that
 * look at GPUs.
 *
 * CUDA runtime failures are FAIL_DEVICE (or FAIL_ENV where nothing could start) with the call's
 * name and CUDA's text.
 */
#ifndef GPU_DEVICE_H
#define GPU_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "data/gpuspec.h"

struct device {
    int ordinal;
    /* Limits as the runtime tells them; peaks of the matching device file, NaN if none matches. */
    struct gpuspec spec;
    struct text spec_text; /* spec in a device file's format, for the run file */
    char uuid[48];         /* "GPU-xxxxxxxx-..." */
    char driver[32];       /* from NVML or /proc/driver/nvidia/version; "" if neither tells */
    char cuda_driver[16], cuda_runtime[16];   /* "13.0" */
    uint64_t memory_bytes, memory_free_bytes; /* at device_open() */
    uint64_t l2_bytes;
};

/* Number of devices; 0 with *why (static text) set when there is no driver, no
 * device or no permission.  Never fails. */
int device_count(const char **why);
/* Makes the device current.  FAIL_ENV with the way out. */
int device_open(struct device *device, int ordinal);
void device_close(struct device *device);
/* FAIL_DEVICE when code (a cudaError_t) is not cudaSuccess: "what: text (name)". */
int device_check(int code, const char *what);
/* The CUcontext current in this thread, NULL if there is none. */
void *device_context(void);
/* Whether the context is lost (sticky error): nothing more can be done in this process. */
bool device_is_lost(void);

#endif
