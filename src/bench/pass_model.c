#include "bench/pass.h"

#include "base/fail.h"
#include "kernels/layout.h"
#include "model/blocksched.h"
#include "model/occupancy.h"
#include "model/roofline.h"

struct modelled {
    double time_us, gap_us;
};

/* What the SMs read from L2, as the counter of a measured run has it: the plan's L2 bytes without
 * what a main launch writes to scratch and the last launch to out and lse. */
static double read_bytes(const struct pass_context *context, int64_t ord)
{
    const struct plan_launch *launch = &context->plan.launch[ord];
    double rows = (double)context->shape.batch * context->shape.heads;
    double bytes = (double)launch->l2_bytes;

    if (launch->role == PLAN_MAIN)
        bytes -= (double)launch->scratch_bytes;
    if (ord == context->plan.count - 1)
        bytes -= rows * (LAYOUT_DIM * sizeof(uint16_t) + sizeof(float));
    return bytes;
}

/* One distinct launch, made `count` times a step; its metrics carry source "model". */
static int model_launch(struct pass_context *context, int64_t ord, struct modelled *sum)
{
    const struct plan_launch *launch = &context->plan.launch[ord];
    struct record *record = context->record;
    const struct gpuspec *spec = context->spec;
    int64_t count = context->point->calls;
    struct roofline_launch time;
    struct occupancy occupancy;
    struct blocksched sched;
    double fill_us;
    int code = occupancy_compute(&occupancy, spec, launch);

    if (code != FAIL_OK)
        return code;
    roofline_launch(&time, spec, launch, occupancy.resident_blocks);
    blocksched_run(&sched, (uint32_t)spec->sm_count, occupancy.resident_blocks, plan_blocks(launch),
                   NULL, time.saturating_blocks);
    fill_us = time.time_us * sched.fill_pct / 100;

    record_metric(record, ord, "gpu_us", time.time_us, "model");
    record_metric(record, ord, "achieved_occupancy_pct",
                  occupancy.theoretical_pct * sched.achieved_pct_of_resident / 100, "model");
    record_metric(record, ord, "busy_sms", sched.busy_sms, "model");
    record_metric(record, ord, "sms_used", sched.sms_used, "model");
    record_metric(record, ord, "tail_pct", sched.tail_pct, "model");
    record_metric(record, ord, "fill_active_us", fill_us, "model");
    record_metric(record, ord, "fill_span_us", time.time_us, "model");
    record_metric(record, ord, "l2_to_sm_bytes", read_bytes(context, ord), "model");
    sum->time_us += (double)count * time.time_us;
    sum->gap_us += (double)count * spec->launch_gap_ns / 1e3;
    return FAIL_OK;
}

int pass_model(struct pass_context *context)
{
    static const char *const role_metric[] = {
        [PLAN_MAIN] = "main_us", [PLAN_COMBINE] = "combine_us"};
    struct modelled sum = {0};

    for (int i = 0; i < context->plan.count; i++) {
        double before = sum.time_us;
        int code = model_launch(context, i, &sum);

        if (code != FAIL_OK)
            return code;
        record_metric(context->record, -1, role_metric[context->plan.launch[i].role],
                      sum.time_us - before, "model");
    }
    record_metric(context->record, -1, "gpu_us", sum.time_us, "model");
    record_metric(context->record, -1, "step_us", sum.time_us + sum.gap_us, "model");
    return FAIL_OK;
}
