#include "bench/pass.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/mem.h"
#include "bench/rig.h"
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
};

enum { COUNTED_CALLS = 8, SECTOR_BYTES = 32 };

/* Weighted sums over the sampled launches of one kind. */
struct kind_sums {
    double weight, metric[METRICS], busy_sms, active_us;
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

/* Every launch of the sampled calls in a range of its own, L2 flushed before each call; so ranges
 * stand call by call, launch by launch. */
static int count_calls(const struct pass_context *context, struct counters *counters)
{
    struct rig *rig = context->rig;
    int code = FAIL_OK;

    for (uint32_t i = 0; code == FAIL_OK && i < sampled_calls(context); i++) {
        struct kernel_args args;

        rig_args(rig, context, 0, sampled_call(context, i), &args);
        code = rig_flush(rig, context, rig->stream);
        for (int kind = 0; code == FAIL_OK && kind < context->plan.count; kind++) {
            struct plan one = context->plan;
            int popped;

            one.launch[0] = context->plan.launch[kind];
            one.count = 1;
            code = counters_push(counters, one.launch[0].name);
            if (code != FAIL_OK)
                break;
            code =
                device_check(context->kernel->launch(&one, &args, rig->stream), one.launch[0].name);
            popped = counters_pop(counters, rig->stream);
            code = code == FAIL_OK ? popped : code;
        }
    }
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

static void add_range(struct pass_context *context, struct kind_sums *sums, const double *values,
                      uint32_t sample, int kind)
{
    size_t place =
        (size_t)sampled_call(context, sample) * (size_t)context->plan.count + (size_t)kind;
    double weight = context->launch_us ? context->launch_us[place] : 1;

    check_blocks(context, kind, values[BLOCKS]);
    sums->weight += weight;
    for (size_t m = 0; m < METRICS; m++)
        sums->metric[m] += weight * values[m];
    sums->busy_sms += weight * values[CYCLES_SUM] / values[CYCLES_MAX];
    sums->active_us += weight * 1e6 * values[CYCLES_AVG] / values[CLOCK_HZ];
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
    record_metric(record, kind, "l2_to_sm_bytes",
                  SECTOR_BYTES * sums->metric[L2_TO_SM_SECTORS] / sums->weight, source);
    if (context->plan.launch[kind].role == PLAN_MAIN)
        record_metric(record, -1, "sm_clock_mhz", sums->metric[CLOCK_HZ] / sums->weight / 1e6,
                      source);
}

static int read_counts(struct pass_context *context, struct counters *counters)
{
    size_t kinds = (size_t)context->plan.count, expected = sampled_calls(context) * kinds, ranges;
    double *values = mem_new(expected * METRICS, sizeof *values);
    struct kind_sums sums[PLAN_MAX_LAUNCHES] = {0};
    int code = counters_read(counters, values, &ranges);

    if (code == FAIL_OK && ranges != expected)
        record_status(context->record, STORE_INVALID, "counter ranges were lost");
    else if (code == FAIL_OK) {
        for (size_t i = 0; i < expected; i++)
            add_range(context, &sums[i % kinds], values + i * METRICS, (uint32_t)(i / kinds),
                      (int)(i % kinds));
        for (size_t kind = 0; kind < kinds; kind++)
            note_kind(context, (int64_t)kind, &sums[kind]);
    }
    free(values);
    return code;
}

int pass_counters(struct pass_context *context)
{
    struct counters *counters = NULL;
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
        code = count_calls(context, counters);
    if (code == FAIL_OK)
        code = read_counts(context, counters);
    counters_close(counters);
    return code;
}
