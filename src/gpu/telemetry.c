#include "gpu/telemetry.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "data/stats.h"
#include "gpu/nvml.h"

void telemetry_start(struct telemetry *telemetry, const char *uuid)
{
    *telemetry = (struct telemetry){.uuid = uuid, .next_s = -(double)INFINITY};
}

void telemetry_free(struct telemetry *telemetry)
{
    for (int i = 0; i < TELEMETRY_FIGURES; i++)
        free(telemetry->values[i]);
    *telemetry = (struct telemetry){0};
}

static void add(struct telemetry *telemetry, enum telemetry_figure figure, double value)
{
    size_t *count = &telemetry->counts[figure], *room = &telemetry->rooms[figure];

    if (isnan(value))
        return;
    if (*count == *room) {
        *room = *room > 0 ? 2 * *room : 16;
        telemetry->values[figure] =
            mem_resize(telemetry->values[figure], *room, sizeof *telemetry->values[figure]);
    }
    telemetry->values[figure][(*count)++] = value;
}

void telemetry_look(struct telemetry *telemetry, double now_s)
{
    struct nvml_state state;

    if (now_s < telemetry->next_s)
        return;
    telemetry->next_s = now_s + TELEMETRY_INTERVAL_S;
    nvml_read(telemetry->uuid, &state);
    add(telemetry, TELEMETRY_SM_CLOCK, state.sm_clock_mhz);
    add(telemetry, TELEMETRY_MEMORY_CLOCK, state.memory_clock_mhz);
    add(telemetry, TELEMETRY_POWER, state.power_w);
    add(telemetry, TELEMETRY_TEMPERATURE, state.temperature_c);
    telemetry->valid |= state.valid;
    telemetry->throttle_reasons |= state.throttle_reasons;
}

struct telemetry_range telemetry_find_range(const struct telemetry *telemetry,
                                            enum telemetry_figure figure)
{
    const double *values = telemetry->values[figure];
    struct telemetry_range range = {NAN, NAN, NAN};

    range.median = stats_median(values, telemetry->counts[figure]);
    for (size_t i = 0; i < telemetry->counts[figure]; i++) {
        range.least = fmin(range.least, values[i]); /* fmin() passes over NaN */
        range.most = fmax(range.most, values[i]);
    }
    return range;
}
