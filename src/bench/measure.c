#include "bench/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "bench/shape.h"

#ifdef HAVE_CUDA
#include "bench/rig.h"
#include "gpu/nvtx.h"
#endif

const struct pass pass_table[] = {
#ifdef HAVE_CUDA
    {"check", PASS_DEVICE, pass_check},         {"time", PASS_DEVICE, pass_time},
    {"trace", PASS_DEVICE, pass_trace},
#endif
    {"launches", PASS_ANYWHERE, pass_launches},
#ifdef HAVE_CUDA
    {"count", PASS_DEVICE, pass_counters},
#endif
    {"model", PASS_MODEL, pass_model},
};
const size_t pass_count = sizeof pass_table / sizeof *pass_table;

void measure_phase_begin(const struct measure *measure, const char *name)
{
#ifdef HAVE_CUDA
    if (measure->rig)
        nvtx_push(name);
#else
    (void)measure;
    (void)name;
#endif
}

void measure_phase_end(const struct measure *measure)
{
#ifdef HAVE_CUDA
    if (measure->rig)
        nvtx_pop();
#else
    (void)measure;
#endif
}

static int prepare_rig(const struct measure *measure, const struct pass_context *context)
{
#ifdef HAVE_CUDA
    return measure->rig ? rig_prepare(measure->rig, context) : FAIL_OK;
#else
    (void)measure;
    (void)context;
    return FAIL_OK;
#endif
}

/* Whether the passes go on: times of a kernel that is wrong are not worth taking. */
static int run_passes(const struct measure *measure, struct pass_context *context)
{
    int code = prepare_rig(measure, context);

    for (size_t i = 0;
         code == FAIL_OK && i < pass_count && context->record->result.status != STORE_MISMATCH;
         i++) {
        if (pass_table[i].where == (measure->rig ? PASS_MODEL : PASS_DEVICE))
            continue;
        measure_phase_begin(measure, pass_table[i].name);
        code = pass_table[i].run(context);
        measure_phase_end(measure);
    }
    return code;
}

/* What the axis columns show: the values used. */
static void set_used(const struct pass_context *context, struct axis_value *used)
{
    memcpy(used, context->point->asked, sizeof context->point->asked);
    if (context->kernel)
        snprintf(used[AXIS_VARIANT].word, sizeof used[AXIS_VARIANT].word, "%s",
                 context->kernel->variant);
    used[AXIS_CONCURRENCY] = (struct axis_value){.number = context->point->concurrency};
    used[AXIS_BATCH] = (struct axis_value){.number = context->point->batch};
    if (context->plan.nsplit > 0)
        used[AXIS_NSPLIT] = (struct axis_value){.number = context->plan.nsplit};
}

static void note_counts(const struct measure *measure, struct pass_context *context)
{
    struct shape_counts counts;

    shape_count(&counts, context->point, &context->shape, measure->seed);
    record_metric(context->record, -1, "valid_entries", (double)counts.valid_entries, "workload");
    record_metric(context->record, -1, "index_entries", (double)counts.index_entries, "workload");
}

static int run_point(const struct measure *measure, struct pass_context *context)
{
    const struct axis_value *asked = context->point->asked;
    int code = shape_from_point(&context->shape, context->point);

    if (code == FAIL_OK)
        code = kernel_find(&context->kernel, asked[AXIS_KERNEL].word, asked[AXIS_VARIANT].word,
                           &context->shape, context->spec);
    if (code != FAIL_OK)
        return code;
    context->kernel->plan(&context->shape, context->spec, &context->plan);
    note_counts(measure, context);
    return run_passes(measure, context);
}

void measure_point(const struct measure *measure, const struct point *point, struct record *record)
{
    struct pass_context context = {
        .point = point,
        .spec = measure->spec,
        .rig = measure->rig,
        .settings = measure->settings,
        .record = record,
        .step_us = (double)NAN,
    };
    int code = run_point(measure, &context);

    if (code != FAIL_OK)
        record_status(record, code == FAIL_UNSUPPORTED ? STORE_SKIPPED : STORE_FAILED, fail_text());
    set_used(&context, record->used);
    free(context.launch_us);
}
