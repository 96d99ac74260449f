/*
 * telemetry: what NVML says of a GPU over a stretch of time: clocks, power, temperature, and what
 * held the clocks back.
 */
#ifndef GPU_TELEMETRY_H
#define GPU_TELEMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A reading is a handful of driver calls and is made between replays; NVML itself renews its
 * figures some ten times a second. */
#define TELEMETRY_INTERVAL_S 0.05

enum telemetry_figure {
    TELEMETRY_SM_CLOCK,
    TELEMETRY_MEMORY_CLOCK,
    TELEMETRY_POWER,
    TELEMETRY_TEMPERATURE,
    TELEMETRY_FIGURES
};

struct telemetry {
    const char *uuid; /* borrowed */
    double next_s;
    double *values[TELEMETRY_FIGURES];
    size_t counts[TELEMETRY_FIGURES], rooms[TELEMETRY_FIGURES];
    uint64_t throttle_reasons; /* all that were there at any reading */
    bool valid;                /* they could be read */
};

/* NaN: never read. */
struct telemetry_range {
    double least, median, most;
};

void telemetry_start(struct telemetry *telemetry, const char *uuid);
void telemetry_free(struct telemetry *telemetry);
/* Reads NVML, unless the last reading is younger than TELEMETRY_INTERVAL_S.  now_s: any steady
 * clock. */
void telemetry_look(struct telemetry *telemetry, double now_s);
/* In MHz, W and degrees Celsius. */
struct telemetry_range telemetry_find_range(const struct telemetry *telemetry,
                                            enum telemetry_figure figure);

#endif
