/*
 * nvml: the few NVML calls needed, opened at run time ($SMSCOPE_NVML, then the soname).  Without
 * NVML everything reads as NaN or "".
 */
#ifndef GPU_NVML_H
#define GPU_NVML_H

#include <stdbool.h>
#include <stdint.h>

struct nvml_state {
    double sm_clock_mhz, memory_clock_mhz, power_w, temperature_c;
    uint64_t throttle_reasons; /* NVML's bit mask of clock event reasons */
    bool valid;
};

bool nvml_available(const char **why);
void nvml_driver_version(char *version, unsigned room);
/* Matched by UUID ("GPU-..."), never by index. */
void nvml_read(const char *uuid, struct nvml_state *state);
/* Bits of throttle_reasons that mean slower than asked: power cap, thermal, hardware slowdown;
 * names joined by '+', "" for none. */
bool nvml_is_throttled(uint64_t reasons);
const char *nvml_reasons_text(uint64_t reasons);

#endif
