#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/bound.h"
#include "analysis/row.h"
#include "data/gpuspec.h"

#include "tests/near.h"

#include <math.h>
#include <string.h>

/* One request, 64 heads, 512 entries: 67108864 flops.  Two calls make a step of 10 us. */
static struct store_launch launches[] = {
    {0, 2, "main", "smscope_split", {1, 2, 8}, {256, 1, 1}, 199, 0, 0, 1, 1000000, 0},
    {1, 2, "combine", "smscope_combine", {64, 1, 1}, {128, 1, 1}, 32, 0, 0, 16, 5000, 0},
};
static const struct store_metric measured[] = {
    {-1, "valid_entries", 512, "workload"},
    {-1, "index_entries", 512, "workload"},
    {0, "tensor_unit", 1, "plan"},
    {1, "tensor_unit", 0, "plan"},
    {0, "l2_to_sm_bytes", 1000000, "range-profiler"},
    {1, "l2_to_sm_bytes", 100000, "range-profiler"},
    {0, "dram__bytes_read.sum", 700000, "range-profiler"},
    {0, "dram__bytes_write.sum", 20000, "range-profiler"},
    {1, "dram__bytes_read.sum", 30000, "range-profiler"},
    {1, "dram__bytes_write.sum", 50000, "range-profiler"},
};
enum { METRICS = sizeof measured / sizeof *measured, TENSOR_UNIT = 2, L2_MAIN = 4, WRITE_LAST = 9 };
static struct store_sample samples[] = {{10000, 20}};

static struct store_metric metrics[METRICS + 1];
static struct store_point_read point;
static struct store_file file;
static struct text spec_text = TEXT_INIT;

static void use_spec(struct gpuspec *spec)
{
    text_clear(&spec_text);
    gpuspec_write(&spec_text, spec);
    file.run.spec = spec_text.bytes;
}

/* Round figures: 50 Tflop/s FMA, 800 matrix, 4 TB/s L2, 2 TB/s DRAM. */
static struct gpuspec round_spec(void)
{
    struct gpuspec spec;
    assert_int_equal(gpuspec_read(&spec, "h200", NULL), 0);
    spec.fp32_tflops = 50;
    spec.bf16_dense_fp32acc_tflops = 800;
    spec.l2_gb_per_s = 4000;
    spec.mem_bw_gbs = 2000;
    strcpy(spec.assumed, "boost_mhz,l2_gb_per_s");
    return spec;
}

static int set_up(void **state)
{
    (void)state;
    struct gpuspec spec = round_spec();
    memcpy(metrics, measured, sizeof measured);
    point = (struct store_point_read){.key = "kernel=splitk",
                                      .section = "grid",
                                      .layers = 1,
                                      .status = STORE_OK,
                                      .axis = {[AXIS_KERNEL] = "splitk",
                                               [AXIS_HEADS] = "64",
                                               [AXIS_CONCURRENCY] = "1",
                                               [AXIS_BATCH] = "1",
                                               [AXIS_TOPK] = "512"},
                                      .launches = launches,
                                      .launch_count = 2,
                                      .samples = samples,
                                      .sample_count = 1,
                                      .metrics = metrics,
                                      .metric_count = METRICS};
    file = (struct store_file){
        .run = {.id = 1, .device = "NVIDIA H200", .sm_count = 132}, .points = &point, .count = 1};
    use_spec(&spec);
    return 0;
}

static struct row one_row(void)
{
    struct row *rows;
    assert_int_equal(row_from_file(&file, &rows), 1);
    struct row row = rows[0];
    row_free(rows);
    return row;
}

static void test_shares_of_a_measured_step(void **state)
{
    (void)state;
    struct row row = one_row();
    assert_near(row.pct_of_tensor, 0.8388608, 1e-9); /* 6.7108864 of 800 Tflop/s */
    assert_true(isnan(row.pct_of_fma));
    assert_near(row.pct_of_l2, 5.5, 1e-9); /* 2 x 1.1 MB / 10 us = 220 of 4000 GB/s */
    assert_near(row.pct_of_dram, 8, 1e-9); /* 2 x 0.8 MB / 10 us = 160 of 2000 GB/s */
    assert_string_equal(row.bound, "dram");
    assert_near(row.pct_of_bound, 8, 1e-9);
    assert_string_equal(row.assumed_roofs, "l2");
}

static void test_the_unit_decides(void **state)
{
    (void)state;
    metrics[TENSOR_UNIT].value = 0;
    struct row row = one_row();
    assert_near(row.pct_of_fma, 13.4217728, 1e-9); /* of 50 Tflop/s */
    assert_true(isnan(row.pct_of_tensor));
    assert_string_equal(row.bound, "fma");
    metrics[TENSOR_UNIT].name = "other"; /* a run that does not tell */
    assert_near(one_row().pct_of_tensor, 0.8388608, 1e-9);
    point.axis[AXIS_KERNEL] = "simt";
    assert_near(one_row().pct_of_fma, 13.4217728, 1e-9);
}

static void test_measured_roofs_come_first(void **state)
{
    (void)state;
    struct store_metric roofs[] = {{-1, "read_roof_gb_per_s", 1600, "event"},
                                   {-1, "matrix_peak_tflops", 400, "event"}};
    struct gpuspec spec = round_spec();
    strcpy(spec.assumed, "fp32_tflops,bf16_dense_fp32acc_tflops,l2_gb_per_s,mem_bw_gbs");
    use_spec(&spec);
    assert_string_equal(one_row().assumed_roofs, "fma,tensor,l2,dram");
    file.metrics = roofs;
    file.metric_count = 2;
    struct row row = one_row();
    assert_near(row.pct_of_dram, 10, 1e-9);
    assert_near(row.pct_of_tensor, 1.6777216, 1e-9);
    assert_string_equal(row.assumed_roofs, "fma,l2");
}

/* One of three shares missing: the largest is not known. */
static void test_no_bound_from_part_of_the_shares(void **state)
{
    (void)state;
    metrics[WRITE_LAST].name = "other";
    struct row row = one_row();
    assert_true(isnan(row.pct_of_dram) && isnan(row.pct_of_bound));
    assert_null(row.bound);
    assert_near(row.pct_of_l2, 5.5, 1e-9);
    point.metric_count = TENSOR_UNIT; /* no counters at all */
    row = one_row();
    assert_true(isnan(row.pct_of_l2) && isnan(row.pct_of_dram));
    assert_near(row.pct_of_tensor, 0.8388608, 1e-9);
    point.launch_count = 0;
    assert_true(isnan(one_row().pct_of_dram));
    point.status = STORE_MISMATCH;
    assert_true(isnan(one_row().pct_of_tensor));
}

static void test_no_figures_no_shares(void **state)
{
    (void)state;
    file.run.spec = "";
    struct row row = one_row();
    assert_true(isnan(row.pct_of_tensor) && isnan(row.pct_of_l2) && isnan(row.pct_of_dram));
    assert_null(row.bound);
    assert_string_equal(row.assumed_roofs, "");
}

/* A modelled step: the model's L2 bytes, the plan's DRAM bytes.  Kinds do not mix. */
static void test_modelled_step(void **state)
{
    (void)state;
    for (size_t i = TENSOR_UNIT; i < METRICS; i++)
        metrics[i].source = "model";
    metrics[METRICS] = (struct store_metric){-1, "step_us", 20, "model"};
    point.metric_count = METRICS + 1;
    point.sample_count = 0;
    struct row row = one_row();
    assert_near(row.pct_of_l2, 2.75, 1e-9);
    assert_near(row.pct_of_dram, 5.025, 1e-9); /* 2 x 1005000 B / 20 us = 100.5 of 2000 GB/s */
    assert_string_equal(row.bound, "dram");
    metrics[L2_MAIN].source = metrics[L2_MAIN + 1].source = "range-profiler";
    row = one_row();
    assert_true(isnan(row.pct_of_l2));
    assert_null(row.bound);
}

static int free_spec(void **state)
{
    (void)state;
    text_free(&spec_text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_shares_of_a_measured_step, set_up),
        cmocka_unit_test_setup(test_the_unit_decides, set_up),
        cmocka_unit_test_setup(test_measured_roofs_come_first, set_up),
        cmocka_unit_test_setup(test_no_bound_from_part_of_the_shares, set_up),
        cmocka_unit_test_setup(test_no_figures_no_shares, set_up),
        cmocka_unit_test_setup(test_modelled_step, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, free_spec);
}
