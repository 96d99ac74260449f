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

/*
 * Which clock event reasons make a measured time one that this GPU can do better, going by what
 * NVML's documentation says of each:
 *   hw_slowdown, hw_thermal, hw_power_brake   hardware cuts the clocks to half or less
 *   thermal                                   software lowers them, the GPU or its memory being hot
 *   sync_boost                                another GPU of the group holds this one back
 * Not so: idle (nothing runs), application and display clocks (the owner asked for them), and the
 * software power cap: clocks that keep to the power limit are what the board is rated for, and a
 * board with a low limit never runs at others.  The cap is named, so that it can be noted.
 */
bool nvml_is_throttled(uint64_t reasons);
/* Everything that holds the clocks back, the power cap too: names joined by '+', "" for nothing. */
const char *nvml_reasons_text(uint64_t reasons);

#endif
