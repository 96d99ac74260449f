#include "bench/pass.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/mem.h"
#include "base/text.h"
#include "bench/rig.h"
#include "gpu/graph.h"
#include "kernels/check.h"
#include "kernels/layout.h"
#include "kernels/reference.h"

enum { CHECK_ROWS = 4, CHECK_HEADS = 8 };

/* Host copies of one step: everything it read and wrote. */
struct step_copy {
    uint16_t *q, *out;
    float *lse;
};

/* first..last, evenly spaced, all of them when there are no more than wanted. */
static uint32_t spread(uint32_t *picked, uint32_t wanted, uint32_t count)
{
    uint32_t n = count < wanted ? count : wanted;

    for (uint32_t i = 0; i < n; i++)
        picked[i] = n == 1 ? 0 : (uint32_t)((uint64_t)i * (count - 1) / (n - 1));
    return n;
}

/* Poisons the outputs, runs step 0 and brings back what it read and wrote. */
static int run_step(const struct pass_context *context, struct step_copy *copy)
{
    struct rig *rig = context->rig;
    uint64_t lse_bytes = (uint64_t)rig->rows * context->shape.heads * sizeof *copy->lse;
    uint64_t row_bytes = (uint64_t)context->shape.heads * LAYOUT_DIM * sizeof *copy->out;
    uint64_t out_bytes = rig->rows * row_bytes;
    int code;

    copy->q = mem_new(out_bytes, 1);
    copy->out = mem_new(out_bytes, 1);
    copy->lse = mem_new(lse_bytes, 1);
    code = buffer_fill(&rig->out, 0, 0xff, out_bytes); /* NaN in bf16 and fp32 */
    if (code == FAIL_OK)
        code = buffer_fill(&rig->lse, 0, 0xff, lse_bytes);
    if (code == FAIL_OK)
        code = rig_launch_step(rig, context, 0, rig->stream);
    if (code == FAIL_OK)
        code = graph_wait(rig->stream, context->kernel->name);
    if (code == FAIL_OK)
        code = buffer_download(&rig->q, 0, copy->q, out_bytes);
    if (code == FAIL_OK)
        code = buffer_download(&rig->out, 0, copy->out, out_bytes);
    if (code == FAIL_OK)
        code = buffer_download(&rig->lse, 0, copy->lse, lse_bytes);
    return code;
}

static void compare(const struct pass_context *context, const struct step_copy *copy,
                    struct check *check)
{
    uint32_t rows[CHECK_ROWS], heads[CHECK_HEADS];
    uint32_t row_count = spread(rows, CHECK_ROWS, context->rig->rows);
    uint32_t head_count = spread(heads, CHECK_HEADS, context->shape.heads);
    size_t pairs = (size_t)row_count * head_count;
    struct reference_part part = {
        .rows = rows,
        .row_count = row_count,
        .heads = heads,
        .head_count = head_count,
        .period_slots = context->rig->main.period_slots,
        .extra_period_slots = context->rig->extra.period_slots,
    };
    struct kernel_args args;
    double *ref_out = mem_new(pairs * LAYOUT_DIM, sizeof *ref_out),
           *ref_lse = mem_new(pairs, sizeof *ref_lse);
    uint16_t *out = mem_new(pairs * LAYOUT_DIM, sizeof *out);
    float *lse = mem_new(pairs, sizeof *lse);

    rig_host_args(context->rig, context, 0, &args);
    args.q = copy->q;
    reference_run(&args, &part, ref_out, ref_lse, 0);
    for (uint32_t r = 0; r < row_count; r++)
        for (uint32_t h = 0; h < head_count; h++) {
            size_t to = (size_t)r * head_count + h,
                   from = (size_t)rows[r] * context->shape.heads + heads[h];

            memcpy(out + to * LAYOUT_DIM, copy->out + from * LAYOUT_DIM, LAYOUT_DIM * sizeof *out);
            lse[to] = copy->lse[from];
        }
    check_compare(check, out, lse, ref_out, ref_lse, pairs);
    free(ref_out);
    free(ref_lse);
    free(out);
    free(lse);
}

int pass_check(struct pass_context *context)
{
    struct step_copy copy = {0};
    struct text reason = TEXT_INIT;
    struct check check;
    int code = run_step(context, &copy);

    if (code == FAIL_OK) {
        compare(context, &copy, &check);
        context->record->result.rel_error = check.rel_error;
        context->record->result.lse_error = check.lse_error;
        if (!check.passed) {
            text_addf(
                &reason,
                "differs from the reference: rel_error %.3g (limit %.3g), lse_error %.3g (limit %.3g)",
                check.rel_error, CHECK_REL_LIMIT, check.lse_error, CHECK_LSE_LIMIT);
            record_status(context->record, STORE_MISMATCH, reason.bytes);
        }
    }
    text_free(&reason);
    free(copy.q);
    free(copy.out);
    free(copy.lse);
    return code;
}
