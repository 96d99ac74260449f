#include "bench/pass.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/mem.h"
#include "base/steady.h"
#include "bench/compulsory.h"
#include "bench/replay.h"
#include "bench/rig.h"
#include "bench/sampling.h"
#include "data/stats.h"
#include "gpu/nvml.h"
#include "gpu/telemetry.h"

/* Median time of as many replays as a window takes. */
static int run_window(const struct pass_context *context, struct replay *replay, double *median_ns)
{
    double *ns = NULL, spent_ns = 0;
    size_t count = 0, room = 0;
    int code = FAIL_OK;

    while (code == FAIL_OK && spent_ns < WARM_UP_WINDOW_NS) {
        if (count == room) {
            room = room > 0 ? 2 * room : 16;
            ns = mem_resize(ns, room, sizeof *ns);
        }
        code = replay_run(replay, context, &ns[count]);
        spent_ns += ns[count++];
    }
    *median_ns = stats_median(ns, count);
    free(ns);
    return code;
}

/* Until it is flat or has had its share of the point's time. */
static int warm_up(struct pass_context *context, struct replay *replay, double begun_s)
{
    double limit_s = begun_s + WARM_UP_SHARE * context->settings->timing_s, median_ns;
    struct warm_up state = {0};
    struct nvml_state card;
    bool warm = false;
    int code = FAIL_OK;

    while (code == FAIL_OK && !warm && (state.windows < 1 || steady_now_s() < limit_s)) {
        code = run_window(context, replay, &median_ns);
        nvml_read(context->rig->device.uuid, &card);
        warm = warm_up_add(&state, median_ns, card.sm_clock_mhz);
    }
    if (code != FAIL_OK)
        return code;
    record_metric(context->record, -1, "warm_up_ms", 1e3 * (steady_now_s() - begun_s), "host");
    if (!warm)
        record_status(context->record, STORE_OK,
                      "time or SM clock still moved at the end of the warm-up");
    return FAIL_OK;
}

/* NVML is read between replays, before the first and behind the last too. */
static int take_samples(struct pass_context *context, struct replay *replay,
                        struct telemetry *telemetry, double begun_s)
{
    uint32_t steps = context->rig->steps;
    struct text reason = TEXT_INIT;
    struct sampling sampling;
    bool more = true;
    int code = FAIL_OK;
    double ns;

    sampling_start(&sampling, context->settings);
    while (code == FAIL_OK && more) {
        telemetry_look(telemetry, steady_now_s());
        code = replay_run(replay, context, &ns);
        if (code != FAIL_OK)
            break;
        record_sample(context->record, ns / steps, steps);
        more = sampling_add(&sampling, ns, steady_now_s() - begun_s);
    }
    telemetry_look(telemetry, (double)INFINITY);
    if (code == FAIL_OK)
        context->step_us = stats_median(sampling.ns, sampling.count) / steps / 1e3;
    if (code == FAIL_OK && !sampling_on_target(&sampling)) {
        sampling_add_text(&reason, &sampling);
        record_status(context->record, STORE_OK, reason.bytes);
    }
    sampling_free(&sampling);
    text_free(&reason);
    return code;
}

/* Of a step, the mean over the steps of a replay. */
static void note_compulsory(struct pass_context *context)
{
    const struct rig *rig = context->rig;
    uint64_t bytes =
        compulsory_bytes(rig, context->shape.heads, 0, (uint64_t)rig->rows * rig->steps);

    record_metric(context->record, -1, "must_read_bytes", (double)bytes / rig->steps, "workload");
}

/* What NVML said while the samples were taken. */
static void note_telemetry(struct pass_context *context, const struct telemetry *telemetry)
{
    static const char *const names[TELEMETRY_FIGURES][3] = {
        [TELEMETRY_SM_CLOCK] = {"sm_clock_mhz_min", "sm_clock_mhz_median", "sm_clock_mhz_max"},
        [TELEMETRY_MEMORY_CLOCK] = {"memory_clock_mhz_min", "memory_clock_mhz_median",
                                    "memory_clock_mhz_max"},
        [TELEMETRY_POWER] = {"power_w_min", "power_w_median", "power_w_max"},
        [TELEMETRY_TEMPERATURE] = {"temperature_c_min", "temperature_c_median",
                                   "temperature_c_max"},
    };

    for (int figure = 0; figure < TELEMETRY_FIGURES; figure++) {
        struct telemetry_range range =
            telemetry_find_range(telemetry, (enum telemetry_figure)figure);

        record_metric(context->record, -1, names[figure][0], range.least, "nvml");
        record_metric(context->record, -1, names[figure][1], range.median, "nvml");
        record_metric(context->record, -1, names[figure][2], range.most, "nvml");
    }
    if (telemetry->valid)
        record_metric(context->record, -1, "throttle_reasons", (double)telemetry->throttle_reasons,
                      "nvml");
}

/* Whether anything held the clocks back meanwhile. */
static void judge_clocks(struct pass_context *context, const struct telemetry *telemetry)
{
    uint64_t reasons = telemetry->throttle_reasons;
    bool throttled = nvml_is_throttled(reasons);
    struct text reason = TEXT_INIT;

    if (telemetry->valid)
        record_metric(context->record, -1, "throttled", throttled, "nvml");
    if (nvml_reasons_text(reasons)[0]) {
        text_addf(&reason, "clocks held back by %s", nvml_reasons_text(reasons));
        record_status(context->record, throttled ? STORE_THROTTLED : STORE_OK, reason.bytes);
    }
    text_free(&reason);
}

int pass_time(struct pass_context *context)
{
    double begun_s = steady_now_s();
    struct telemetry telemetry;
    struct replay replay;
    int code = replay_open(&replay, context);

    telemetry_start(&telemetry, context->rig->device.uuid);
    if (code == FAIL_OK)
        code = warm_up(context, &replay, begun_s);
    if (code == FAIL_OK)
        code = take_samples(context, &replay, &telemetry, begun_s);
    if (code == FAIL_OK) {
        note_compulsory(context);
        note_telemetry(context, &telemetry);
        judge_clocks(context, &telemetry);
    }
    telemetry_free(&telemetry);
    replay_close(&replay);
    return code;
}
