#include "analysis/row.h"

#include "analysis/bound.h"
#include "analysis/drifted.h"
#include "analysis/sourced.h"
#include "base/mem.h"
#include "data/stats.h"
#include "model/roofline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double missing = (double)NAN;

static double axis_number(const struct store_point_read *point, enum axis_id id)
{
    int64_t number;
    return point->axis[id] && text_to_int(point->axis[id], &number) ? (double)number : missing;
}

/* ---- of a point ---- */

bool row_is_finished(const struct store_point_read *point)
{
    return point->status != STORE_PENDING && point->status != STORE_RUNNING;
}

static bool has_times(const struct store_point_read *point)
{
    return point->status == STORE_OK || point->status == STORE_INVALID ||
           point->status == STORE_THROTTLED;
}

static void fill_step(struct row *row)
{
    const struct store_point_read *point = row->point;
    double *us = mem_new(point->sample_count, sizeof *us);
    for (size_t i = 0; i < point->sample_count; i++)
        us[i] = point->samples[i].ns / 1e3;
    if (point->sample_count > 0) {
        struct stats_interval interval = stats_median_interval(us, point->sample_count);
        row->samples = (double)point->sample_count;
        row->step_us = stats_median(us, point->sample_count);
        row->step_us_lo = interval.low;
        row->step_us_hi = interval.high;
        row->source = "event";
    } else {
        struct sourced step = sourced_of_point(point, "step_us");
        row->step_us = step.value;
        row->source = step.source;
    }
    free(us);
}

static void fill_gpu(struct row *row)
{
    struct sourced gpu = sourced_of_point(row->point, "gpu_us");
    row->gpu_us = gpu.value;
    row->gpu_source = gpu.source;
    row->main_us = sourced_labelled(sourced_of_point(row->point, "main_us"), gpu.source);
    row->combine_us = sourced_labelled(sourced_of_point(row->point, "combine_us"), gpu.source);
}

/* All from step_us; units: bytes/us = 1e-3 GB/s, flops/us = 1e-6 Tflop/s. */
static void fill_rates(struct row *row, const struct bound_roofs *roofs)
{
    const struct roofline_ceilings *ceilings = &roofs->ceilings;
    double valid = sourced_of_point(row->point, "valid_entries").value;
    double entries = sourced_of_point(row->point, "index_entries").value;
    if (!(row->step_us > 0))
        return;
    row->tokens_per_s = 1e6 * row->concurrency / (row->layers * row->step_us + row->rest_us);
    row->kv_gb_per_s = valid * ROOFLINE_TOKEN_BYTES / row->step_us / 1e3;
    row->tflops = 2 * row->heads * valid * (ROOFLINE_DIM + ROOFLINE_DIM) / row->step_us / 1e6;
    bound_fill(row, roofs);
    if (isnan(valid) || isnan(entries) || isnan(row->concurrency) || isnan(row->heads) ||
        isnan(ceilings->read_bytes_per_s) || isnan(ceilings->matrix_flops_per_s))
        return;
    row->pct_of_floor = 100 *
                        roofline_floor_us(ceilings, (uint64_t)valid, (uint64_t)row->concurrency,
                                          (uint32_t)row->heads, (uint64_t)entries) /
                        row->step_us;
}

/* The SMs' time with work over all their time, both of the launches that were counted, or both
 * modelled. */
static double find_fill_pct(const struct row *row)
{
    struct sourced active = sourced_step_sum(row->point, "fill_active_us", false);
    struct sourced span = sourced_step_sum(row->point, "fill_span_us", false);
    return 100 * sourced_labelled(active, row->counter_source) /
           sourced_labelled(span, active.source);
}

static void fill_occupancy(struct row *row)
{
    const struct store_point_read *point = row->point;
    struct sourced achieved = sourced_point_or_main(point, "achieved_occupancy_pct");
    struct sourced busy = sourced_point_or_main(point, "busy_sms");
    struct sourced bytes = sourced_step_sum(point, "l2_to_sm_bytes", true);
    double valid = sourced_of_point(point, "valid_entries").value;
    row->counter_source = achieved.source ? achieved.source
                          : busy.source   ? busy.source
                                          : bytes.source;
    row->achieved_occupancy_pct = sourced_labelled(achieved, row->counter_source);
    row->busy_sms = sourced_labelled(busy, row->counter_source);
    row->sms_used = sourced_labelled(sourced_largest(point, "sms_used"), row->counter_source);
    row->tail_pct = sourced_labelled(sourced_point_or_main(point, "tail_pct"), row->counter_source);
    row->kv_reread_x =
        sourced_labelled(bytes, row->counter_source) / (valid * ROOFLINE_TOKEN_BYTES);
    row->theoretical_occupancy_pct =
        sourced_point_or_main(point, "theoretical_occupancy_pct").value;
    row->waves = sourced_point_or_main(point, "waves").value;
    row->l2_hit_pct =
        sourced_labelled(sourced_point_or_main(point, "l2_hit_pct"), row->counter_source);
    row->sm_clock_mhz = sourced_of_point(point, "sm_clock_mhz").value;
}

static bool any_modelled(const struct store_point_read *point)
{
    for (size_t i = 0; i < point->metric_count; i++)
        if (sourced_is_model(point->metrics[i].source))
            return true;
    return false;
}

static void fill_identity(struct row *row, const struct store_file *file,
                          const struct store_point_read *point)
{
    *row = (struct row){.point = point,
                        .device = file->run.device,
                        .status = store_status_name(point->status),
                        .section = point->section,
                        .reason = point->reason,
                        .key = point->key,
                        .run = (double)file->run.id,
                        .sm_count = (double)file->run.sm_count,
                        .rel_error = point->rel_error,
                        .lse_error = point->lse_error,
                        .layers = point->layers,
                        .rest_us = point->rest_us,
                        .concurrency = axis_number(point, AXIS_CONCURRENCY),
                        .batch = axis_number(point, AXIS_BATCH),
                        .topk = axis_number(point, AXIS_TOPK),
                        .heads = axis_number(point, AXIS_HEADS),
                        .modelled = any_modelled(point)};
    double *const times[] = {&row->samples,      &row->step_us,      &row->step_us_lo,
                             &row->step_us_hi,   &row->gpu_us,       &row->main_us,
                             &row->combine_us,   &row->tokens_per_s, &row->kv_gb_per_s,
                             &row->tflops,       &row->pct_of_floor, &row->sm_fill_pct,
                             &row->pct_of_bound, &row->pct_of_fma,   &row->pct_of_tensor,
                             &row->pct_of_l2,    &row->pct_of_dram};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        *times[i] = missing;
}

static void fill_row(struct row *row, const struct store_file *file,
                     const struct store_point_read *point, const struct bound_roofs *roofs)
{
    fill_identity(row, file, point);
    fill_occupancy(row);
    row->throttled =
        point->status == STORE_THROTTLED ? 1 : sourced_of_point(point, "throttled").value;
    if (!has_times(point))
        return;
    fill_step(row);
    fill_gpu(row);
    fill_rates(row, roofs);
    row->sm_fill_pct = find_fill_pct(row);
}

size_t row_from_file(const struct store_file *file, struct row **rows)
{
    struct bound_roofs roofs;
    struct drifted drifted;
    size_t count = 0;
    bound_find_roofs(&roofs, file);
    drifted_find(&drifted, file);
    *rows = mem_new(file->count, sizeof **rows);
    for (size_t i = 0; i < file->count; i++) {
        if (!row_is_finished(&file->points[i]))
            continue;
        fill_row(&(*rows)[count], file, &file->points[i], &roofs);
        (*rows)[count++].drifted = drifted.drifted;
    }
    return count;
}

void row_free(struct row *rows)
{
    free(rows);
}

/* ---- of a launch ---- */

static void fill_counters(struct row_launch *row, const struct store_launch *launch)
{
    const struct store_point_read *point = row->point;
    struct sourced achieved = sourced_of_launch(point, launch, "achieved_occupancy_pct");
    struct sourced busy = sourced_of_launch(point, launch, "busy_sms");
    struct sourced bytes = sourced_of_launch(point, launch, "l2_to_sm_bytes");
    row->counter_source = achieved.source ? achieved.source
                          : busy.source   ? busy.source
                                          : bytes.source;
    row->achieved_occupancy_pct = sourced_labelled(achieved, row->counter_source);
    row->busy_sms = sourced_labelled(busy, row->counter_source);
    row->l2_to_sm_bytes = sourced_labelled(bytes, row->counter_source);
    row->sms_used =
        sourced_labelled(sourced_of_launch(point, launch, "sms_used"), row->counter_source);
    row->tail_pct =
        sourced_labelled(sourced_of_launch(point, launch, "tail_pct"), row->counter_source);
    row->dram_bytes = sourced_dram_bytes(point, launch, row->counter_source);
}

void row_launch_get(const struct store_file *file, const struct store_point_read *point,
                    size_t index, struct row_launch *row)
{
    const struct store_launch *launch = &point->launches[index];
    struct sourced gpu = sourced_of_launch(point, launch, "gpu_us");
    *row = (struct row_launch){.point = point,
                               .key = point->key,
                               .role = launch->role,
                               .kernel_name = launch->name,
                               .run = (double)file->run.id,
                               .ord = (double)launch->ord,
                               .count = (double)launch->count,
                               .registers = (double)launch->registers,
                               .smem_bytes =
                                   (double)(launch->smem_static_bytes + launch->smem_dynamic_bytes),
                               .resident_blocks = (double)launch->resident_blocks,
                               .plan_bytes = (double)launch->bytes,
                               .plan_flops = (double)launch->flops,
                               .gpu_us = has_times(point) ? gpu.value : missing,
                               .source = has_times(point) ? gpu.source : NULL};
    snprintf(row->grid, sizeof row->grid, "%ux%ux%u", launch->grid[0], launch->grid[1],
             launch->grid[2]);
    snprintf(row->block, sizeof row->block, "%ux%ux%u", launch->block[0], launch->block[1],
             launch->block[2]);
    row->theoretical_occupancy_pct =
        sourced_of_launch(point, launch, "theoretical_occupancy_pct").value;
    row->waves = sourced_of_launch(point, launch, "waves").value;
    row->registers_planned = sourced_of_launch(point, launch, "registers_planned").value;
    fill_counters(row, launch);
}
