#include "bench/pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/mem.h"
#include "base/text.h"
#include "bench/replay.h"
#include "bench/rig.h"
#include "bench/trace.h"
#include "data/stats.h"
#include "gpu/activity.h"

enum { TRACE_REPLAYS = 5 };

/* Launches of a step: every call makes the plan's launches in order. */
static size_t step_launches(const struct pass_context *context)
{
    return (size_t)context->point->calls * (size_t)context->plan.count;
}

/* Runs the replays under the Activity API; their event times tell what tracing costs. */
static int record_replays(const struct pass_context *context, struct activity_list *list,
                          double *event_us)
{
    double ns[TRACE_REPLAYS];
    struct replay replay;
    int code = replay_open(&replay, context);

    if (code == FAIL_OK)
        code = activity_start();
    if (code == FAIL_OK) {
        int stopped;

        for (int i = 0; code == FAIL_OK && i < TRACE_REPLAYS; i++)
            code = replay_run(&replay, context, &ns[i]);
        stopped = activity_stop(list);
        code = code == FAIL_OK ? stopped : code;
    }
    if (code == FAIL_OK)
        *event_us = stats_median(ns, TRACE_REPLAYS) / context->rig->steps / 1e3;
    replay_close(&replay);
    return code;
}

/* What the device ran with, where it differs from the plan (another compiler,
 * PTX compiled by the driver). */
static void correct_plan(struct pass_context *context, const struct activity_list *list)
{
    for (int l = 0; l < context->plan.count; l++)
        for (size_t i = 0; i < list->count; i++)
            if (strcmp(list->records[i].name, context->plan.launch[l].name) == 0) {
                context->plan.launch[l].registers = (int)list->records[i].registers;
                context->plan.launch[l].registers_planned = false;
                context->plan.launch[l].smem_static_bytes = list->records[i].smem_static_bytes;
                break;
            }
}

/* What a step's main launches take, and what its combine launches add to that: where they overlap,
 * the time is the main launches'. */
static void note_roles(struct pass_context *context, const struct trace_span *spans, size_t steps,
                       double step_us)
{
    size_t launches = step_launches(context), kinds = (size_t)context->plan.count, mains = 0;
    struct trace_span *main_spans = mem_new(steps * launches, sizeof *main_spans);
    double main_us;

    for (size_t i = 0; i < steps * launches; i++)
        if (context->plan.launch[i % kinds].role == PLAN_MAIN)
            main_spans[mains++] = spans[i];
    main_us = trace_step_us(main_spans, steps, mains / steps);
    record_metric(context->record, -1, "main_us", main_us, "cupti-activity");
    if (mains < steps * launches)
        record_metric(context->record, -1, "combine_us", step_us - main_us, "cupti-activity");
    free(main_spans);
}

static void note_times(struct pass_context *context, const struct trace_span *spans, size_t steps)
{
    size_t launches = step_launches(context), kinds = (size_t)context->plan.count;
    double step_us = trace_step_us(spans, steps, launches);

    context->launch_us = mem_new(launches, sizeof *context->launch_us);
    trace_launch_us(spans, steps, launches, context->launch_us);
    record_metric(context->record, -1, "gpu_us", step_us, "cupti-activity");
    note_roles(context, spans, steps, step_us);
    for (size_t kind = 0; kind < kinds; kind++) {
        double sum = 0;

        for (size_t i = kind; i < launches; i += kinds)
            sum += context->launch_us[i];
        record_metric(context->record, (int64_t)kind, "gpu_us", sum / context->point->calls,
                      "cupti-activity");
    }
}

int pass_trace(struct pass_context *context)
{
    size_t steps = (size_t)TRACE_REPLAYS * context->rig->steps;
    size_t expected = steps * step_launches(context);
    struct activity_list list = {0};
    struct trace_span *spans = NULL;
    struct text reason = TEXT_INIT;
    double event_us = (double)NAN;
    int code = record_replays(context, &list, &event_us);

    if (code == FAIL_ENV) { /* times by events stand without it */
        record_missing(context->record, "gpu_us");
        code = FAIL_OK;
        goto out;
    }
    if (code != FAIL_OK)
        goto out;
    spans = mem_new(expected, sizeof *spans);
    if (trace_match(&list, &context->plan, expected, spans, &reason)) {
        correct_plan(context, &list);
        note_times(context, spans, steps);
        record_metric(context->record, -1, "trace_overhead_pct",
                      100 * (event_us / context->step_us - 1), "event");
    } else {
        record_status(context->record, STORE_INVALID, reason.bytes);
    }
out:
    free(spans);
    text_free(&reason);
    activity_free(&list);
    return code;
}
