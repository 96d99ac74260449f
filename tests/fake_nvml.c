/*
 * A libnvidia-ml.so.1 of our own with one GPU, "GPU-fake".  $FAKE_NVML: the event reasons as a
 * number, or "broken": every reading fails, or "no-init".  $FAKE_NVML_SM_CLOCK: in MHz, in place of
 * 1500.  Compiled with FAKE_OLD it has only the reasons' older name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int nvmlInit_v2(void);
int nvmlSystemGetDriverVersion(char *version, unsigned length);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz);
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);

enum { SUCCESS = 0, NOT_FOUND = 6, NOT_SUPPORTED = 3, DRIVER_NOT_LOADED = 9 };

static int handle;

static int is(const char *word)
{
    const char *setting = getenv("FAKE_NVML");

    return setting && strcmp(setting, word) == 0;
}

static int give(void *device, unsigned *to, unsigned value)
{
    if (device != &handle || is("broken"))
        return NOT_SUPPORTED;
    *to = value;
    return SUCCESS;
}

static int give_reasons(void *device, unsigned long long *reasons, unsigned long long more)
{
    const char *setting = getenv("FAKE_NVML");

    if (device != &handle || is("broken"))
        return NOT_SUPPORTED;
    *reasons = more | (setting ? strtoull(setting, NULL, 0) : 0);
    return SUCCESS;
}

int nvmlInit_v2(void)
{
    return is("no-init") ? DRIVER_NOT_LOADED : SUCCESS;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    snprintf(version, length, "999.12.34");
    return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    *device = &handle;
    return strcmp(uuid, "GPU-fake") == 0 ? SUCCESS : NOT_FOUND;
}

int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz)
{
    const char *sm = getenv("FAKE_NVML_SM_CLOCK");

    if (type == 1 && sm)
        return give(device, mhz, (unsigned)strtoul(sm, NULL, 10));
    return give(device, mhz, type == 1 ? 1500 : type == 2 ? 3201 : 7);
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    return give(device, milliwatts, 698500);
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    return give(device, celsius, sensor == 0 ? 61 : 0);
}

#ifdef FAKE_OLD
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    return give_reasons(device, reasons, 0x20);
}
#else
int nvmlDeviceGetCurrentClocksEventReasons(void *device, unsigned long long *reasons)
{
    return give_reasons(device, reasons, 0);
}
#endif
