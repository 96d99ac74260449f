#include "bench/pass.h"

#include "base/fail.h"
#include "model/occupancy.h"

int pass_launches(struct pass_context *context)
{
    const char *source = context->rig ? "plan" : "model";

    for (int i = 0; i < context->plan.count; i++) {
        const struct plan_launch *launch = &context->plan.launch[i];
        struct occupancy occupancy;
        double slots;
        int code = occupancy_compute(&occupancy, context->spec, launch);

        if (code != FAIL_OK)
            return code;
        record_launch(context->record, launch, context->point->calls, occupancy.resident_blocks);
        slots = (double)context->spec->sm_count * occupancy.resident_blocks;
        record_metric(context->record, i, "theoretical_occupancy_pct", occupancy.theoretical_pct,
                      source);
        record_metric(context->record, i, "waves", (double)plan_blocks(launch) / slots, source);
        if (launch->registers_planned)
            record_metric(context->record, i, "registers_planned", 1, source);
        record_metric(context->record, i, "tensor_unit", launch->unit == PLAN_TENSOR, source);
    }
    return FAIL_OK;
}
