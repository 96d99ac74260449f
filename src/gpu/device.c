#include "gpu/device.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "base/fail.h"
#include "gpu/nvml.h"

int device_check(int code, const char *what)
{
    cudaError_t error = (cudaError_t)code;

    if (error == cudaSuccess)
        return FAIL_OK;
    return fail_set(FAIL_DEVICE, "%s: %s (%s)", what, cudaGetErrorString(error),
                    cudaGetErrorName(error));
}

bool device_is_lost(void)
{
    cudaError_t code;

    (void)cudaGetLastError(); /* forgets an error that is not sticky */
    code = cudaStreamQuery(NULL);
    return code != cudaSuccess && code != cudaErrorNotReady;
}

/* Why there is no device, and the way out. */
static const char *reason_for(cudaError_t code)
{
    int version = 0;

    if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0)
        return "there is no NVIDIA driver (libcuda.so.1); install one";
    switch (code) {
    case cudaSuccess:
    case cudaErrorNoDevice:
        return "the NVIDIA driver shows no GPU (nvidia-smi; CUDA_VISIBLE_DEVICES; containers: --gpus all)";
    case cudaErrorInsufficientDriver:
        return "the NVIDIA driver is older than this program's CUDA runtime; update the driver";
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorSystemDriverMismatch:
        return "libcuda and the kernel's NVIDIA driver do not match; reboot after a driver update, take compat folders "
               "off LD_LIBRARY_PATH";
    case cudaErrorSystemNotReady:
        return "the GPU system is not ready; start nvidia-fabricmanager";
    default:
        return "the NVIDIA driver cannot be used (dmesg, permissions of /dev/nvidia*)";
    }
}

int device_count(const char **why)
{
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);

    (void)cudaGetLastError();
    if (code == cudaSuccess && count > 0) {
        *why = NULL;
        return count;
    }
    *why = reason_for(code);
    return 0;
}

void *device_context(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*current)(void **) = NULL;
    void *symbol = driver ? dlsym(driver, "cuCtxGetCurrent") : NULL;
    void *context = NULL;

    memcpy(&current, &symbol,
           sizeof symbol); /* ISO C has no cast from an object to a function pointer */
    if (current && current(&context) != 0)
        context = NULL;
    return context;
}

static int attribute(int ordinal, enum cudaDeviceAttr which)
{
    int value = 0;

    if (cudaDeviceGetAttribute(&value, which, ordinal) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return value;
}

/* Bytes moved on both edges of the memory clock; NaN where the driver does not
 * tell (it may say 0). */
static double bandwidth_gbs(int ordinal)
{
    int khz = attribute(ordinal, cudaDevAttrMemoryClockRate),
        bits = attribute(ordinal, cudaDevAttrGlobalMemoryBusWidth);

    return khz > 0 && bits > 0 ? 2.0 * khz * bits / 8 / 1e6 : NAN;
}

static void unknown_peaks(struct gpuspec *spec, int ordinal)
{
    int khz = attribute(ordinal, cudaDevAttrClockRate);

    memset(spec, 0, sizeof *spec);
    spec->mem_bw_gbs = bandwidth_gbs(ordinal);
    spec->boost_mhz = khz > 0 ? khz / 1e3 : NAN;
    spec->bf16_dense_fp32acc_tflops = NAN;
    spec->mma_sync_tflops = NAN;
    spec->fp32_tflops = NAN;
    spec->l2_gb_per_s = NAN;
    spec->dram_latency_ns = NAN;
    spec->block_fixed_ns = NAN;
    spec->launch_gap_ns = NAN;
}

/* Figures that the machine tells are no longer assumed. */
static void drop_assumed(struct gpuspec *spec)
{
    static const char *const untold[] = {
        "mem_bw_gbs",    "boost_mhz",      "bf16_dense_fp32acc_tflops", "mma_sync_tflops",
        "fp32_tflops",   "l2_gb_per_s",    "dram_latency_ns",           "block_fixed_ns",
        "launch_gap_ns", "barriers_per_sm"};
    struct text left = TEXT_INIT;
    size_t i;

    for (i = 0; i < sizeof untold / sizeof untold[0]; i++)
        if (gpuspec_is_assumed(spec, untold[i]))
            text_addf(&left, "%s%s", left.length ? "," : "", untold[i]);
    snprintf(spec->assumed, sizeof spec->assumed, "%s", left.bytes);
    text_free(&left);
}

static void read_limits(struct device *device)
{
    struct gpuspec *spec = &device->spec;
    int ordinal = device->ordinal;
    int warp = attribute(ordinal, cudaDevAttrWarpSize);

    spec->cc_major = attribute(ordinal, cudaDevAttrComputeCapabilityMajor);
    spec->cc_minor = attribute(ordinal, cudaDevAttrComputeCapabilityMinor);
    spec->sm_count = attribute(ordinal, cudaDevAttrMultiProcessorCount);
    spec->max_warps_per_sm =
        attribute(ordinal, cudaDevAttrMaxThreadsPerMultiProcessor) / (warp > 0 ? warp : 32);
    spec->max_blocks_per_sm = attribute(ordinal, cudaDevAttrMaxBlocksPerMultiprocessor);
    spec->regs_per_sm = attribute(ordinal, cudaDevAttrMaxRegistersPerMultiprocessor);
    spec->smem_per_sm_bytes = attribute(ordinal, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    spec->smem_per_block_optin_bytes = attribute(ordinal, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    spec->smem_reserved_bytes = attribute(ordinal, cudaDevAttrReservedSharedMemoryPerBlock);
    device->l2_bytes = (uint64_t)attribute(ordinal, cudaDevAttrL2CacheSize);
    spec->l2_mb = (double)device->l2_bytes / (1 << 20);
    spec->memory_gb = (double)device->memory_bytes / (1 << 30);
    drop_assumed(spec);
}

static void format_uuid(const cudaUUID_t *uuid, char out[48])
{
    const unsigned char *b = (const unsigned char *)uuid->bytes;

    snprintf(out, 48, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

/* The first word of the kernel module's own description that looks like 580.95.05. */
static void read_proc_driver(char *version, size_t room)
{
    struct text text = TEXT_INIT;
    char *word, *rest;

    version[0] = '\0';
    if (text_read_file(&text, "/proc/driver/nvidia/version") == FAIL_OK) {
        for (word = strtok_r(text.bytes, " \t\n", &rest); word;
             word = strtok_r(NULL, " \t\n", &rest)) {
            if (isdigit((unsigned char)word[0]) && strchr(word, '.') &&
                word[strspn(word, "0123456789.")] == '\0') {
                snprintf(version, room, "%s", word);
                break;
            }
        }
    }
    text_free(&text);
}

static void read_versions(struct device *device)
{
    int driver = 0, runtime = 0;

    nvml_driver_version(device->driver, sizeof device->driver);
    if (!device->driver[0])
        read_proc_driver(device->driver, sizeof device->driver);
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    snprintf(device->cuda_driver, sizeof device->cuda_driver, "%d.%d", driver / 1000,
             driver % 1000 / 10);
    snprintf(device->cuda_runtime, sizeof device->cuda_runtime, "%d.%d", runtime / 1000,
             runtime % 1000 / 10);
}

static int make_current(struct device *device)
{
    size_t total = 0, available = 0;
    int code = device_check((int)cudaSetDevice(device->ordinal), "cudaSetDevice");

    if (code == FAIL_OK)
        code = device_check((int)cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
    device->memory_bytes = total;
    device->memory_free_bytes = available;
    return code;
}

int device_open(struct device *device, int ordinal)
{
    struct cudaDeviceProp properties;
    const char *why;
    int count = device_count(&why);

    memset(device, 0, sizeof *device);
    device->spec_text = (struct text)TEXT_INIT;
    device->ordinal = ordinal;
    if (count == 0)
        return fail_set(FAIL_ENV, "%s", why);
    if (ordinal < 0 || ordinal >= count)
        return fail_set(
            FAIL_ENV,
            "there is no GPU %d; %d in sight, counted from 0 (CUDA_VISIBLE_DEVICES renumbers)",
            ordinal, count);
    if (make_current(device) != FAIL_OK ||
        device_check((int)cudaGetDeviceProperties(&properties, ordinal),
                     "cudaGetDeviceProperties") != FAIL_OK)
        return fail_set(FAIL_ENV, "GPU %d cannot be used: %s", ordinal, fail_text());
    if (gpuspec_by_device_name(&device->spec, properties.name, NULL) != FAIL_OK)
        unknown_peaks(&device->spec, ordinal);
    snprintf(device->spec.name, sizeof device->spec.name, "%.95s", properties.name);
    read_limits(device);
    format_uuid(&properties.uuid, device->uuid);
    read_versions(device);
    gpuspec_write(&device->spec_text, &device->spec);
    return FAIL_OK;
}

void device_close(struct device *device)
{
    text_free(&device->spec_text);
}
