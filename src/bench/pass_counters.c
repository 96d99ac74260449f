#include "bench/pass.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/mem.h"
#include "base/text.h"
#include "bench/compulsory.h"
#include "bench/rig.h"
#include "bench/trace.h"
#include "gpu/activity.h"
#include "gpu/counters.h"

/* In order of importance: what does not fit into one pass is left out from the end. */
enum metric {
    WARPS_ACTIVE_PCT,
    CYCLES_SUM,
    CYCLES_MAX,
    CYCLES_AVG,
    CLOCK_HZ,
    BLOCKS,
    L2_TO_SM_SECTORS,
    DRAM_READ,
    DRAM_WRITE,
    L2_TO_SM_HITS,
    METRICS
};

static const char *const metric_names[METRICS] = {
    [WARPS_ACTIVE_PCT] = "sm__warps_active.avg.pct_of_peak_sustained_active",
    [CYCLES_SUM] = "sm__cycles_active.sum",
    [CYCLES_MAX] = "sm__cycles_active.max",
    [CYCLES_AVG] = "sm__cycles_active.avg",
    [CLOCK_HZ] = "gpc__cycles_elapsed.avg.per_second",
    [BLOCKS] = "sm__ctas_launched.sum",
    [L2_TO_SM_SECTORS] = "lts__t_sectors_srcunit_tex_op_read.sum",
    [DRAM_READ] = "dram__bytes_read.sum",
    [DRAM_WRITE] = "dram__bytes_write.sum",
    [L2_TO_SM_HITS] = "lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum",
};

enum { COUNTED_CALLS = 8, SECTOR_BYTES = 32 };

/* Weighted sums over the sampled launches of one kind. */
struct kind_sums {
    double weight, metric[METRICS], busy_sms, active_us, span_us, must_read_bytes;
};

static uint32_t sampled_calls(const struct pass_context *context)
{
    return context->point->calls < COUNTED_CALLS ? context->point->calls : COUNTED_CALLS;
}

/* Call number of sample i, evenly spaced over the step. */
static uint32_t sampled_call(const struct pass_context *context, uint32_t i)
{
    return (uint32_t)((uint64_t)i * context->point->calls / sampled_calls(context));
}

/* One launch of a call, in a range of its own. */
static int count_launch(const struct pass_context *context, struct counters *counters,
                        const struct kernel_args *args, int kind)
{
    struct plan one = context->plan;
    const char *name = one.launch[kind].name;
    int code, popped;

    one.launch[0] = one.launch[kind];
    one.count = 1;
    code = counters_push(counters, name);
    if (code != FAIL_OK)
        return code;
    code = device_check(context->kernel->launch(&one, args, context->rig->stream), name);
    popped = counters_pop(counters, context->rig->stream);
    return code == FAIL_OK ? popped : code;
}

/*
 * Each sampled call as a step of a replay finds the device: L2 flushed, and then the same kernels
 * run on another set of lists, so that their code and arguments' pages are at hand and the data is
 * not.  (The first launch after a flush took up to 6 us longer on an H200.)  With memory for a
 * single set the kernels run before the flush.
 */
static int warm_call(const struct pass_context *context, uint32_t call)
{
    struct rig *rig = context->rig;
    uint32_t other = rig_set(context, rig->steps > 1);
    struct kernel_args args;
    int code = FAIL_OK;

    rig_args(rig, context, other, call, &args);
    if (rig->steps > 1)
        code = rig_flush(rig, context, rig->stream);
    if (code == FAIL_OK)
        code = device_check(context->kernel->launch(&context->plan, &args, rig->stream),
                            context->kernel->name);
    if (code == FAIL_OK && rig->steps == 1)
        code = rig_flush(rig, context, rig->stream);
    return code;
}

/* Every launch of the sampled calls in a range of its own, so ranges stand call by call, launch by
 * launch. */
static int count_calls(const struct pass_context *context, struct counters *counters)
{
    int code = FAIL_OK;

    for (uint32_t i = 0; code == FAIL_OK && i < sampled_calls(context); i++) {
        uint32_t call = sampled_call(context, i);
        struct kernel_args args;

        rig_args(context->rig, context, 0, call, &args);
        code = warm_call(context, call);
        for (int kind = 0; code == FAIL_OK && kind < context->plan.count; kind++)
            code = count_launch(context, counters, &args, kind);
    }
    return code;
}

/*
 * The same under the Activity API: SM fill takes the time of the launch that was counted, which is
 * alone on the device and therefore takes longer or shorter than in a step.  *spans: of each range,
 * in order, or NULL without usable records (reason says why they are not).
 */
static int count_traced(const struct pass_context *context, struct counters *counters,
                        struct trace_span **spans, struct text *reason)
{
    size_t kinds = (size_t)context->plan.count, calls = sampled_calls(context);
    struct activity_list list = {0};
    struct trace_span *all = mem_new(2 * calls * kinds, sizeof *all);
    bool traced = activity_start() == FAIL_OK;
    int code = count_calls(context, counters), stopped = FAIL_OK;

    *spans = NULL;
    if (traced)
        stopped = activity_stop(&list);
    if (code == FAIL_OK && traced && stopped == FAIL_OK &&
        trace_match(&list, &context->plan, 2 * calls * kinds, all, reason)) {
        *spans = mem_new(calls * kinds, sizeof **spans);
        for (size_t i = 0; i < calls * kinds; i++) /* each call's warm launches come first */
            (*spans)[i] = all[(2 * (i / kinds) + 1) * kinds + i % kinds];
    }
    free(all);
    activity_free(&list);
    return code;
}

/* Whether the range holds exactly the launch it was meant for. */
static void check_blocks(struct pass_context *context, int kind, double counted)
{
    double planned = (double)plan_blocks(&context->plan.launch[kind]);
    struct text reason = TEXT_INIT;

    if (isnan(counted) || counted == planned)
        return;
    text_addf(&reason, "a counter range of %s counted %.0f blocks, not %.0f",
              context->plan.launch[kind].name, counted, planned);
    record_status(context->record, STORE_INVALID, reason.bytes);
    text_free(&reason);
}

/* Step 0 is the one that is counted; a combine reads what its call has just written. */
static double must_read(const struct pass_context *context, uint32_t sample, int kind)
{
    uint32_t batch = context->shape.batch;

    if (context->plan.launch[kind].role != PLAN_MAIN)
        return (double)NAN;
    return (double)compulsory_bytes(context->rig, context->shape.heads,
                                    (uint64_t)sampled_call(context, sample) * batch, batch);
}

static void add_range(struct pass_context *context, struct kind_sums *sums, const double *values,
                      const struct trace_span *span, uint32_t sample, int kind)
{
    size_t place =
        (size_t)sampled_call(context, sample) * (size_t)context->plan.count + (size_t)kind;
    double weight = context->launch_us ? context->launch_us[place] : 1;

    check_blocks(context, kind, values[BLOCKS]);
    sums->weight += weight;
    for (size_t m = 0; m < METRICS; m++)
        sums->metric[m] += weight * values[m];
    sums->busy_sms += weight * values[CYCLES_SUM] / values[CYCLES_MAX];
    sums->must_read_bytes += weight * must_read(context, sample, kind);
    sums->active_us += weight * 1e6 * values[CYCLES_AVG] / values[CLOCK_HZ];
    sums->span_us += span ? weight * (double)(span->end_ns - span->start_ns) / 1e3 : (double)NAN;
}

static void note_kind(struct pass_context *context, int64_t kind, const struct kind_sums *sums)
{
    static const char source[] = "range-profiler";
    struct record *record = context->record;

    for (size_t m = 0; m < METRICS; m++)
        record_metric(record, kind, metric_names[m], sums->metric[m] / sums->weight, source);
    record_metric(record, kind, "achieved_occupancy_pct",
                  sums->metric[WARPS_ACTIVE_PCT] / sums->weight, source);
    record_metric(record, kind, "busy_sms", sums->busy_sms / sums->weight, source);
    record_metric(record, kind, "fill_active_us", sums->active_us / sums->weight, source);
    record_metric(record, kind, "fill_span_us", sums->span_us / sums->weight, "cupti-activity");
    record_metric(record, kind, "l2_to_sm_bytes",
                  SECTOR_BYTES * sums->metric[L2_TO_SM_SECTORS] / sums->weight, source);
    record_metric(record, kind, "l2_hit_pct",
                  100 * sums->metric[L2_TO_SM_HITS] / sums->metric[L2_TO_SM_SECTORS], source);
    record_metric(record, kind, "must_read_bytes", sums->must_read_bytes / sums->weight,
                  "workload");
    if (context->plan.launch[kind].role == PLAN_MAIN)
        record_metric(record, -1, "sm_clock_mhz", sums->metric[CLOCK_HZ] / sums->weight / 1e6,
                      source);
}

static int read_counts(struct pass_context *context, struct counters *counters,
                       const struct trace_span *spans)
{
    size_t kinds = (size_t)context->plan.count, expected = sampled_calls(context) * kinds, ranges;
    double *values = mem_new(expected * METRICS, sizeof *values);
    struct kind_sums sums[PLAN_MAX_LAUNCHES] = {0};
    int code = counters_read(counters, values, &ranges);

    if (code == FAIL_OK && ranges != expected)
        record_status(context->record, STORE_INVALID, "counter ranges were lost");
    else if (code == FAIL_OK) {
        for (size_t i = 0; i < expected; i++)
            add_range(context, &sums[i % kinds], values + i * METRICS, spans ? &spans[i] : NULL,
                      (uint32_t)(i / kinds), (int)(i % kinds));
        for (size_t kind = 0; kind < kinds; kind++)
            note_kind(context, (int64_t)kind, &sums[kind]);
    }
    free(values);
    return code;
}

int pass_counters(struct pass_context *context)
{
    struct counters *counters = NULL;
    struct trace_span *spans = NULL;
    struct text reason = TEXT_INIT;
    int code;

    if (!context->settings->counters)
        return FAIL_OK;
    code = counters_open(&counters, context->rig->device.ordinal, metric_names, METRICS,
                         (size_t)COUNTED_CALLS * PLAN_MAX_LAUNCHES);
    if (code == FAIL_ENV) {
        record_missing(context->record, "occupancy");
        return FAIL_OK;
    }
    if (code == FAIL_OK)
        code = count_traced(context, counters, &spans, &reason);
    if (code == FAIL_OK)
        code = read_counts(context, counters, spans);
    counters_close(counters);
    if (code == FAIL_OK && reason.length > 0)
        record_status(context->record, STORE_INVALID, reason.bytes);
    free(spans);
    text_free(&reason);
    return code;
}
