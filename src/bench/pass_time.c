#include "bench/pass.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/mem.h"
#include "bench/replay.h"
#include "bench/rig.h"
#include "data/stats.h"
#include "gpu/nvml.h"

static const int64_t warm_up_least = 3;
static const double warm_up_ns = 20e6;

static int warm_up(const struct pass_context *context, struct replay *replay)
{
    double spent_ns = 0, ns;
    int code = FAIL_OK;

    for (int64_t i = 0; code == FAIL_OK && (i < warm_up_least || spent_ns < warm_up_ns); i++) {
        code = replay_run(replay, context, &ns);
        spent_ns += ns;
    }
    return code;
}

static int take_samples(struct pass_context *context, struct replay *replay)
{
    size_t count = (size_t)context->settings->samples;
    double *ns = mem_new(count, sizeof *ns);
    int code = FAIL_OK;

    for (size_t i = 0; code == FAIL_OK && i < count; i++) {
        code = replay_run(replay, context, &ns[i]);
        if (code == FAIL_OK)
            record_sample(context->record, ns[i] / context->rig->steps, context->rig->steps);
    }
    if (code == FAIL_OK)
        context->step_us = stats_median(ns, count) / context->rig->steps / 1e3;
    free(ns);
    return code;
}

/* What the card said of its clocks right after the samples. */
static void note_clocks(struct pass_context *context)
{
    struct text reason = TEXT_INIT;
    struct nvml_state state;
    bool throttled;

    nvml_read(context->rig->device.uuid, &state);
    if (!state.valid)
        return;
    throttled = nvml_is_throttled(state.throttle_reasons);
    record_metric(context->record, -1, "throttled", throttled, "nvml");
    if (nvml_reasons_text(state.throttle_reasons)[0]) {
        text_addf(&reason, "clocks held back by %s", nvml_reasons_text(state.throttle_reasons));
        record_status(context->record, throttled ? STORE_THROTTLED : STORE_OK, reason.bytes);
    }
    text_free(&reason);
}

int pass_time(struct pass_context *context)
{
    struct replay replay;
    int code = replay_open(&replay, context);

    if (code == FAIL_OK)
        code = warm_up(context, &replay);
    if (code == FAIL_OK)
        code = take_samples(context, &replay);
    if (code == FAIL_OK)
        note_clocks(context);
    replay_close(&replay);
    return code;
}
