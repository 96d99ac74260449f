#include "gpu/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* nvml.h is not part of every toolkit; these are its names, types and numbers. */
typedef struct nvmlDevice_st *nvml_device;
enum { NVML_SUCCESS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_TEMPERATURE_GPU = 0 };
enum {
    NVML_REASON_SW_POWER_CAP = 0x4,
    NVML_REASON_HW_SLOWDOWN = 0x8,
    NVML_REASON_SYNC_BOOST = 0x10,
    NVML_REASON_SW_THERMAL = 0x20,
    NVML_REASON_HW_THERMAL = 0x40,
    NVML_REASON_POWER_BRAKE = 0x80
};

static struct {
    int (*init)(void);
    int (*driver_version)(char *version, unsigned length);
    int (*handle_by_uuid)(const char *uuid, nvml_device *device);
    int (*clock)(nvml_device device, int type, unsigned *mhz);
    int (*power)(nvml_device device, unsigned *milliwatts);
    int (*temperature)(nvml_device device, int sensor, unsigned *celsius);
    int (*event_reasons)(nvml_device device, unsigned long long *reasons);
    int (*throttle_reasons)(nvml_device device,
                            unsigned long long *reasons); /* its name before driver 535 */
    const char *why;                                      /* not usable because */
    bool tried;
} nvml;

static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);

    memcpy(function, &symbol,
           sizeof symbol); /* ISO C has no cast from an object to a function pointer */
    return symbol != NULL;
}

static const char *open_nvml(void)
{
    const char *chosen = getenv("SMSCOPE_NVML");
    void *library =
        dlopen(chosen && chosen[0] ? chosen : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    bool reasons;

    if (!library)
        return chosen && chosen[0]
                   ? "SMSCOPE_NVML names a library that cannot be loaded"
                   : "libnvidia-ml.so.1 is not there; it comes with the NVIDIA driver";
    reasons = find(library, "nvmlDeviceGetCurrentClocksEventReasons", &nvml.event_reasons);
    reasons |= find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", &nvml.throttle_reasons);
    if (!reasons || !find(library, "nvmlInit_v2", &nvml.init) ||
        !find(library, "nvmlSystemGetDriverVersion", &nvml.driver_version) ||
        !find(library, "nvmlDeviceGetHandleByUUID", &nvml.handle_by_uuid) ||
        !find(library, "nvmlDeviceGetClockInfo", &nvml.clock) ||
        !find(library, "nvmlDeviceGetPowerUsage", &nvml.power) ||
        !find(library, "nvmlDeviceGetTemperature", &nvml.temperature))
        return "libnvidia-ml.so.1 lacks functions that are needed; update the NVIDIA driver";
    if (nvml.init() != NVML_SUCCESS)
        return "nvmlInit fails: no NVIDIA driver is loaded, or it does not match libnvidia-ml.so.1 (reboot after an "
               "update)";
    return NULL;
}

bool nvml_available(const char **why)
{
    if (!nvml.tried)
        nvml.why = open_nvml();
    nvml.tried = true;
    *why = nvml.why;
    return nvml.why == NULL;
}

void nvml_driver_version(char *version, unsigned room)
{
    const char *why;

    if (!nvml_available(&why) || nvml.driver_version(version, room) != NVML_SUCCESS)
        version[0] = '\0';
}

/* By pointer: the call that gives the result also writes the value. */
static double known(int result, const unsigned *value)
{
    return result == NVML_SUCCESS ? (double)*value : NAN;
}

/* Looks a GPU up once: that takes NVML longer than a reading. */
static bool find_device(const char *uuid, nvml_device *device)
{
    static char known_uuid[48];
    static nvml_device known_device;
    const char *why;

    if (!nvml_available(&why))
        return false;
    if (strcmp(uuid, known_uuid) != 0 || !known_uuid[0]) {
        known_uuid[0] = '\0';
        if (nvml.handle_by_uuid(uuid, &known_device) != NVML_SUCCESS)
            return false;
        snprintf(known_uuid, sizeof known_uuid, "%s", uuid);
    }
    *device = known_device;
    return true;
}

void nvml_read(const char *uuid, struct nvml_state *state)
{
    unsigned long long reasons = 0;
    nvml_device device;
    unsigned value = 0;

    *state = (struct nvml_state){
        .sm_clock_mhz = NAN, .memory_clock_mhz = NAN, .power_w = NAN, .temperature_c = NAN};
    if (!find_device(uuid, &device))
        return;
    state->sm_clock_mhz = known(nvml.clock(device, NVML_CLOCK_SM, &value), &value);
    state->memory_clock_mhz = known(nvml.clock(device, NVML_CLOCK_MEM, &value), &value);
    state->power_w = known(nvml.power(device, &value), &value) / 1e3;
    state->temperature_c = known(nvml.temperature(device, NVML_TEMPERATURE_GPU, &value), &value);
    state->valid = (nvml.event_reasons ? nvml.event_reasons
                                       : nvml.throttle_reasons)(device, &reasons) == NVML_SUCCESS;
    state->throttle_reasons = state->valid ? reasons : 0;
}

static const struct {
    uint64_t bit;
    const char *name;
    bool throttles;
} holds[] = {
    {NVML_REASON_SW_POWER_CAP, "power_cap", false},
    {NVML_REASON_HW_SLOWDOWN, "hw_slowdown", true},
    {NVML_REASON_SYNC_BOOST, "sync_boost", true},
    {NVML_REASON_SW_THERMAL, "thermal", true},
    {NVML_REASON_HW_THERMAL, "hw_thermal", true},
    {NVML_REASON_POWER_BRAKE, "hw_power_brake", true},
};

bool nvml_is_throttled(uint64_t reasons)
{
    for (size_t i = 0; i < sizeof holds / sizeof holds[0]; i++)
        if (holds[i].throttles && (reasons & holds[i].bit))
            return true;
    return false;
}

const char *nvml_reasons_text(uint64_t reasons)
{
    static _Thread_local char text[96];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof holds / sizeof holds[0]; i++)
        if (reasons & holds[i].bit)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? "+" : "",
                                     holds[i].name);
    return text;
}
