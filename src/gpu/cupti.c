#include "gpu/cupti.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"

int cupti_cuda_release(uint32_t api_version)
{
    /* cupti_version.h: a counter up to CUDA 12.9, then major, minor and
     * patch in two digits each. */
    static const int counted[] = {1100, 1101, 1102, 1105, 1106, 1108, 1200, 1202,
                                  1203, 1204, 1205, 1206, 1206, 1208, 1209, 1209};
    const uint32_t first = 13;

    if (api_version >= 130000)
        return (int)(api_version / 100);
    if (api_version >= first && api_version < first + sizeof counted / sizeof counted[0])
        return counted[api_version - first];
    return 0;
}

#ifdef HAVE_CUPTI

#include "gpu/cupti_table.h"
#include "gpu/toolkit.h"

#if CUPTI_API_VERSION >= 130000
#define CUPTI_MAJOR (CUPTI_API_VERSION / 10000)
#else
#define CUPTI_MAJOR (CUDA_VERSION / 1000)
#endif

static struct cupti functions;
static void *library;
static char library_path[PATH_MAX];

/* What CUptiResult numbers mean to the person at the keyboard. */
static const struct {
    int result;
    const char *text;
} remedies[] = {
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
     "the driver lets only administrators read GPU counters; let it admit everyone (as root: put the line \"options "
     "nvidia NVreg_RestrictProfilingToAdminUsers=0\" into /etc/modprobe.d/nvidia-profiling.conf, run update-initramfs "
     "-u where it exists, reboot), or run as root or with CAP_SYS_ADMIN (containers: docker run --cap-add=SYS_ADMIN)"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
     "the hypervisor does not allow profiling; its administrator has to enable it for this virtual GPU"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED,
     "this virtual GPU has no counters; use a whole GPU"},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
     "another profiler is attached to this program (nsys, ncu, cuda-gdb, compute-sanitizer, or a library that "
     "CUDA_INJECTION64_PATH names); run without it"},
    {CUPTI_ERROR_DISABLED, "another profiler is attached to this program; run without it"},
    {CUPTI_ERROR_HARDWARE_BUSY,
     "the GPU's counters are taken (ncu, nsys with GPU metrics, DCGM: dcgmi profile --pause, or a second smscope); "
     "wait for it or stop it"},
    {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED,
     "confidential computing is on; profiling needs it off"},
    {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED,
     "this is a slice of a GPU (MIG); profiling needs the whole GPU"},
    {CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, "not possible under WSL"},
    {CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, "NVIDIA does not let mining cards be profiled"},
    {CUPTI_ERROR_NOT_INITIALIZED,
     "CUPTI found no driver, or libnvperf_host.so is missing beside libcupti; install the complete cuda-cupti package "
     "of the same version"},
    {CUPTI_ERROR_NOT_SUPPORTED,
     "this CUPTI does not support the GPU or driver; use the CUPTI of a newer toolkit"},
#ifdef HAVE_CUPTI_RANGE
    {CUPTI_ERROR_INVALID_CHIP_NAME,
     "this CUPTI does not know the GPU; use the CUPTI of a newer toolkit"},
#endif
};

int cupti_fail(int result, const char *what)
{
    const char *name = NULL;
    size_t i;

    if (!library || functions.cuptiGetResultString((CUptiResult)result, &name) != CUPTI_SUCCESS)
        name = NULL;
    if (!name)
        name = "CUPTI error";
    for (i = 0; i < sizeof remedies / sizeof remedies[0]; i++)
        if (remedies[i].result == result)
            return fail_set(FAIL_ENV, "%s: %s (%d): %s", what, name, result, remedies[i].text);
    return fail_set(FAIL_ENV, "%s: %s (%d)", what, name, result);
}

/* dlsym() gives an object pointer; ISO C has no cast from that to a function pointer. */
static bool find_function(void *handle, const char *name, void *pointer)
{
    void *symbol = dlsym(handle, name);

    memcpy(pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

#define FIND_NEEDED(name)                               \
    if (!find_function(handle, #name, &functions.name)) \
        return fail_set(FAIL_ENV, "%s lacks %s; use the CUPTI of a newer toolkit", path, #name);
#define FIND_RANGE(name) functions.has_range &= find_function(handle, #name, &functions.name);

static int fill_table(void *handle, const char *path)
{
    CUPTI_ACTIVITY_FUNCTIONS(FIND_NEEDED)
#ifdef HAVE_CUPTI_RANGE
    functions.has_range = true;
    CUPTI_RANGE_FUNCTIONS(FIND_RANGE)
#endif
    if (functions.cuptiGetVersion(&functions.version) != CUPTI_SUCCESS)
        functions.version = 0;
    if (cupti_cuda_release(functions.version) == 0)
        return fail_set(
            FAIL_ENV,
            "%s says it is CUPTI version %u, which is none of CUDA 11.0 to 13.x; use another copy",
            path, functions.version);
    return FAIL_OK;
}

/* Full path of an open library. */
static void find_path(void *handle, const char *name, char path[PATH_MAX])
{
    struct link_map *map = NULL;

    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name[0])
        name = map->l_name;
    if (!realpath(name, path))
        snprintf(path, PATH_MAX, "%s", name);
}

static void load_host_library(const char *cupti_file)
{
    struct text path = TEXT_INIT;
    char *copy = strdup(cupti_file);

    if (copy) {
        text_addf(&path, "%s/libnvperf_host.so", dirname(copy));
        (void)dlopen(path.bytes,
                     RTLD_NOW | RTLD_GLOBAL); /* without it the profiler host says so itself */
    }
    free(copy);
    text_free(&path);
}

/* FAIL_NOTHING: there is no such library.  FAIL_ENV: there is, and it cannot be used. */
static int open_library(const char *name)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    int code;

    if (!handle)
        return fail_set(FAIL_NOTHING, "%s", dlerror());
    find_path(handle, name, library_path);
    load_host_library(library_path);
    code = fill_table(handle, library_path);
    if (code != FAIL_OK) {
        library_path[0] = '\0';
        dlclose(handle);
        return code;
    }
    library = handle;
    return FAIL_OK;
}

static int open_anywhere(void)
{
    static const char *const places[] = {"lib64", "extras/CUPTI/lib64", NULL};
    char soname[32];
    const char *const names[] = {"libcupti.so", soname, NULL};
    int code;

    snprintf(soname, sizeof soname, "libcupti.so.%d", CUPTI_MAJOR);
    code = open_library(soname);
    if (code == FAIL_NOTHING)
        code = open_library("libcupti.so");
    if (code == FAIL_NOTHING)
        code = toolkit_search(places, names, open_library);
    if (code == FAIL_NOTHING)
        code = fail_set(
            FAIL_ENV,
            "CUPTI is not there: no %s or libcupti.so on the loader's path, in $CUDA_HOME, $CUDA_PATH or "
            "/usr/local/cuda*; install it (apt-get install cuda-cupti-%d-%d) or set SMSCOPE_CUPTI to the full "
            "path of libcupti.so",
            soname, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    return code;
}

int cupti_get(const struct cupti **table)
{
    const char *chosen = getenv("SMSCOPE_CUPTI");
    int code = FAIL_OK;

    if (!library && chosen && chosen[0]) {
        code = open_library(chosen);
        if (code == FAIL_NOTHING)
            code = fail_set(FAIL_ENV, "SMSCOPE_CUPTI names a library that cannot be loaded: %s",
                            fail_text());
    } else if (!library) {
        code = open_anywhere();
    }
    if (code == FAIL_OK)
        *table = &functions;
    return code;
}

const char *cupti_path(void)
{
    return library_path;
}

uint32_t cupti_api_version(void)
{
    return library ? functions.version : 0;
}

uint32_t cupti_header_version(void)
{
    return CUPTI_API_VERSION;
}

int cupti_has_range(void)
{
    return library && functions.has_range;
}

#else

int cupti_get(const struct cupti **table)
{
    *table = NULL;
    return fail_set(
        FAIL_ENV,
        "this program was built without CUPTI's headers; install them (cuda-cupti-dev), configure "
        "and build again");
}

const char *cupti_path(void)
{
    return "";
}

uint32_t cupti_api_version(void)
{
    return 0;
}

uint32_t cupti_header_version(void)
{
    return 0;
}

int cupti_has_range(void)
{
    return 0;
}

int cupti_fail(int result, const char *what)
{
    return fail_set(FAIL_ENV, "%s: CUPTI error %d", what, result);
}

#endif
