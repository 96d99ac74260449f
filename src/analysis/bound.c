#include "analysis/bound.h"

#include "analysis/sourced.h"
#include "base/fail.h"
#include "base/log.h"
#include "data/gpuspec.h"

#include <math.h>
#include <string.h>

static const double missing = (double)NAN;

/* ---- of a run ---- */

static void note_assumed(struct bound_roofs *roofs, const struct gpuspec *spec, const char *figure,
                         const char *roof)
{
    size_t length = strlen(roofs->assumed);

    if (gpuspec_is_assumed(spec, figure))
        snprintf(roofs->assumed + length, sizeof roofs->assumed - length, "%s%s", length ? "," : "",
                 roof);
}

void bound_find_roofs(struct bound_roofs *roofs, const struct store_file *file)
{
    double read_gb_per_s = store_find_run_metric(file, "read_roof_gb_per_s", NULL);
    double peak_tflops = store_find_run_metric(file, "matrix_peak_tflops", NULL);
    struct gpuspec spec;

    *roofs = (struct bound_roofs){{missing, missing}, missing, missing, ""};
    if (gpuspec_parse(&spec, "device figures of the run", file->run.spec, strlen(file->run.spec)) ==
        FAIL_OK) {
        roofs->ceilings = roofline_from_spec(&spec);
        roofs->fma_flops_per_s = spec.fp32_tflops * 1e12;
        roofs->l2_bytes_per_s = spec.l2_gb_per_s * 1e9;
        note_assumed(roofs, &spec, "fp32_tflops", "fma");
        if (isnan(peak_tflops))
            note_assumed(roofs, &spec, "bf16_dense_fp32acc_tflops", "tensor");
        note_assumed(roofs, &spec, "l2_gb_per_s", "l2");
        if (isnan(read_gb_per_s))
            note_assumed(roofs, &spec, "mem_bw_gbs", "dram");
    } else {
        log_warn_once("shares of the device's roofs are empty: %s", fail_text());
    }
    if (!isnan(read_gb_per_s))
        roofs->ceilings.read_bytes_per_s = read_gb_per_s * 1e9;
    if (!isnan(peak_tflops))
        roofs->ceilings.matrix_flops_per_s = peak_tflops * 1e12;
}

/* ---- of a row ---- */

/* Runs older than the metric do not tell; the only kernel of theirs without tensor cores was simt.
 */
static bool uses_tensor_cores(const struct store_point_read *point)
{
    double told = sourced_main_mean(point, "tensor_unit").value;
    const char *kernel = point->axis[AXIS_KERNEL];

    return isnan(told) ? !kernel || strcmp(kernel, "simt") != 0 : told > 0;
}

static double step_dram_bytes(const struct row *row)
{
    double sum = row->point->launch_count > 0 ? 0 : missing;

    for (size_t i = 0; i < row->point->launch_count; i++) {
        const struct store_launch *launch = &row->point->launches[i];

        sum += (double)launch->count * sourced_dram_bytes(row->point, launch, row->source);
    }
    return sum;
}

static void take_larger(struct row *row, const char *name, double pct)
{
    if (!row->bound || pct > row->pct_of_bound) {
        row->bound = name;
        row->pct_of_bound = pct;
    }
}

void bound_fill(struct row *row, const struct bound_roofs *roofs)
{
    bool tensor = uses_tensor_cores(row->point);
    double unit_pct = 100 * row->tflops * 1e12 /
                      (tensor ? roofs->ceilings.matrix_flops_per_s : roofs->fma_flops_per_s);
    double step_s = row->step_us / 1e6;
    struct sourced l2_bytes = sourced_step_sum(row->point, "l2_to_sm_bytes", false);

    *(tensor ? &row->pct_of_tensor : &row->pct_of_fma) = unit_pct;
    row->pct_of_l2 =
        100 * sourced_labelled(l2_bytes, row->source) / (step_s * roofs->l2_bytes_per_s);
    row->pct_of_dram = 100 * step_dram_bytes(row) / (step_s * roofs->ceilings.read_bytes_per_s);
    snprintf(row->assumed_roofs, sizeof row->assumed_roofs, "%s", roofs->assumed);
    if (isnan(unit_pct) || isnan(row->pct_of_l2) || isnan(row->pct_of_dram))
        return;
    take_larger(row, tensor ? "tensor" : "fma", unit_pct);
    take_larger(row, "l2", row->pct_of_l2);
    take_larger(row, "dram", row->pct_of_dram);
}
