#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analysis/row.h"
#include "data/gpuspec.h"

#include "tests/near.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Three requests in calls of two rows, 64 heads, 512 entries each; two launches a call. */
static struct store_launch launches[] = {
    {0, 2, "main", "smscope_split", {2, 2, 8}, {256, 1, 1}, 199, 1024, 95000, 1, 1000000, 2000000},
    {1, 2, "combine", "smscope_combine", {2, 64, 1}, {128, 1, 1}, 32, 0, 0, 16, 5000, 6000},
};
static struct store_sample samples[] = {{10000, 20}, {11000, 20}, {9000, 20}, {10500, 20},
                                        {9500, 20},  {10200, 20}, {9800, 20}};
static struct store_metric metrics[] = {
    {-1, "valid_entries", 1536, "workload"},
    {-1, "index_entries", 1536, "workload"},
    {-1, "gpu_us", 7.75, "cupti-activity"},
    {-1, "main_us", 6, "cupti-activity"},
    {-1, "combine_us", 2, "cupti-activity"},
    {-1, "sm_clock_mhz", 1755, "range-profiler"},
    {-1, "throttled", 0, "event"},
    {0, "gpu_us", 3, "cupti-activity"},
    {1, "gpu_us", 1, "cupti-activity"},
    {0, "theoretical_occupancy_pct", 12.5, "plan"},
    {1, "theoretical_occupancy_pct", 100, "plan"},
    {0, "waves", 0.25, "plan"},
    {0, "achieved_occupancy_pct", 12, "range-profiler"},
    {1, "achieved_occupancy_pct", 40, "range-profiler"},
    {0, "busy_sms", 31.5, "range-profiler"},
    {1, "busy_sms", 100, "range-profiler"},
    {0, "fill_active_us", 1.5, "range-profiler"},
    {1, "fill_active_us", 0.25, "range-profiler"},
    {0, "fill_span_us", 3, "cupti-activity"},
    {1, "fill_span_us", 1, "cupti-activity"},
    {0, "l2_to_sm_bytes", 897024 * 4,
     "range-profiler"}, /* 4 x the bytes of a step's valid entries */
    {1, "l2_to_sm_bytes", 999999, "range-profiler"},
    {0, "dram__bytes_read.sum", 900000, "range-profiler"},
    {0, "dram__bytes_write.sum", 100000, "range-profiler"},
};
static struct store_metric run_metrics[] = {{-1, "read_roof_gb_per_s", 4000, "event"},
                                            {-1, "matrix_peak_tflops", 800, "event"}};
static struct store_point_read point;
static struct store_file file;

enum { METRICS = sizeof metrics / sizeof *metrics };

/* A fresh measured point; tests change what they are about. */
static int set_up(void **state)
{
    (void)state;
    point = (struct store_point_read){.key = "kernel=splitk concurrency=3 batch=2",
                                      .section = "grid",
                                      .layers = 10,
                                      .rest_us = 100,
                                      .status = STORE_OK,
                                      .rel_error = 0.0025,
                                      .lse_error = 1e-7,
                                      .axis = {[AXIS_KERNEL] = "splitk",
                                               [AXIS_HEADS] = "64",
                                               [AXIS_CONCURRENCY] = "3",
                                               [AXIS_BATCH] = "2",
                                               [AXIS_TOPK] = "512",
                                               [AXIS_LENGTH] = "full",
                                               [AXIS_NSPLIT] = "8"},
                                      .launches = launches,
                                      .launch_count = 2,
                                      .samples = samples,
                                      .sample_count = 7,
                                      .metrics = metrics,
                                      .metric_count = METRICS};
    file = (struct store_file){
        .run = {.id = 1, .device = "NVIDIA H200", .sm_count = 132, .spec = "", .workload = ""},
        .points = &point,
        .count = 1,
        .metrics = run_metrics,
        .metric_count = 2};
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

static void test_measured_point(void **state)
{
    (void)state;
    struct row row = one_row();
    assert_string_equal(row.source, "event");
    assert_string_equal(row.gpu_source, "cupti-activity");
    assert_string_equal(row.counter_source, "range-profiler");
    assert_false(row.modelled);
    assert_near(row.samples, 7, 0);
    assert_near(row.step_us, 10, 1e-12);
    assert_near(row.step_us_lo, 9, 1e-12); /* 7 samples: only the whole range covers 95 % */
    assert_near(row.step_us_hi, 11, 1e-12);
    assert_near(row.gpu_us, 7.75, 0);
    assert_near(row.main_us, 6, 0);
    assert_near(row.combine_us, 2, 0);
    assert_near(row.tokens_per_s, 15000, 1e-9);  /* 3 / (10 x 10 us + 100 us) */
    assert_near(row.kv_gb_per_s, 89.7024, 1e-9); /* 1536 x 584 B / 10 us */
    assert_near(row.tflops, 20.1326592, 1e-9);   /* 2 x 64 x 1536 x 1024 / 10 us */
    assert_near(row.pct_of_floor, 3.24096,
                1e-9); /* (897024 + 393216 + 6144) B / 4000 GB/s = 0.324096 us */
    assert_near(row.theoretical_occupancy_pct, 12.5, 0);
    assert_near(row.achieved_occupancy_pct, 12, 1e-12); /* combine has its own row */
    assert_near(row.busy_sms, 31.5, 1e-12);
    assert_near(row.waves, 0.25, 1e-12);
    assert_near(row.sm_fill_pct, 43.75, 1e-9); /* (2 x 1.5 + 2 x 0.25) / (2 x 3 + 2 x 1) */
    assert_near(row.kv_reread_x, 8, 1e-9);     /* two launches */
    assert_near(row.sm_clock_mhz, 1755, 0);
    assert_near(row.throttled, 0, 0);
    assert_true(isnan(row.tail_pct) && isnan(row.sms_used) && isnan(row.l2_hit_pct));
}

/* Flops decide where the matrix peak is low: 201326592 flops / 100 Tflop/s = 2.01326592 us. */
static void test_floor_by_flops(void **state)
{
    (void)state;
    struct store_metric slow[] = {{-1, "read_roof_gb_per_s", 4000, "event"},
                                  {-1, "matrix_peak_tflops", 100, "event"}};
    file.metrics = slow;
    assert_near(one_row().pct_of_floor, 20.1326592, 1e-9);
}

/* Without measured roofs the run's device figures stand in; without those there is no floor. */
static void test_ceilings_of_the_device_file(void **state)
{
    (void)state;
    struct text spec = TEXT_INIT;
    struct gpuspec gpu;
    assert_int_equal(gpuspec_read(&gpu, "h200", &spec), 0);
    file.run.spec = spec.bytes;
    file.metric_count = 0;
    assert_near(one_row().pct_of_floor, 100 * 0.27008 / 10,
                1e-9);     /* 1296384 B / 4800 GB/s; flops 0.2035 us */
    file.metric_count = 1; /* one of the two was measured */
    assert_near(one_row().pct_of_floor, 3.24096, 1e-9);
    text_clear(&spec); /* a GPU without a device file: its peaks are unknown, so its floor is */
    file.metric_count = 0;
    gpu.bf16_dense_fp32acc_tflops = gpu.mma_sync_tflops = (double)NAN;
    gpuspec_write(&spec, &gpu);
    file.run.spec = spec.bytes;
    assert_true(isnan(one_row().pct_of_floor));
    assert_int_equal(gpuspec_parse(&gpu, "again", spec.bytes, spec.length), 0);
    text_free(&spec);
    file.run.spec = "[gpu]\n";
    assert_true(isnan(one_row().pct_of_floor));
    assert_near(one_row().tflops, 20.1326592, 1e-9);
}

static void test_mean_of_unlike_main_launches(void **state)
{
    (void)state;
    struct store_launch two[] = {launches[0], launches[0]};
    struct store_metric some[] = {{0, "achieved_occupancy_pct", 10, "range-profiler"},
                                  {1, "achieved_occupancy_pct", 20, "range-profiler"},
                                  {0, "gpu_us", 3, "cupti-activity"},
                                  {1, "gpu_us", 1, "cupti-activity"},
                                  {0, "sms_used", 32, "sm-residency"},
                                  {1, "sms_used", 40, "sm-residency"}};
    two[0].count = 1;
    two[1].ord = 1;
    two[1].count = 4;
    point.launches = two;
    point.metrics = some;
    point.metric_count = 6;
    assert_near(one_row().achieved_occupancy_pct, 110.0 / 7, 1e-9); /* (3 x 10 + 4 x 20) / 7 */
    assert_near(one_row().sms_used, 40, 0);
    point.metric_count = 2; /* no times: each launch counts alike */
    assert_near(one_row().achieved_occupancy_pct, 18, 1e-9);
    point.metric_count = 1; /* one is unknown, so the mean is */
    assert_true(isnan(one_row().achieved_occupancy_pct));
}

static void test_fill_needs_both_of_every_launch(void **state)
{
    (void)state;
    struct store_metric some[METRICS];
    memcpy(some, metrics, sizeof some);
    point.metrics = some;
    some[17].name = "other"; /* combine's fill_active_us */
    assert_true(isnan(one_row().sm_fill_pct));
    some[17].name = "fill_active_us";
    some[19].name = "other"; /* combine's fill_span_us */
    assert_true(isnan(one_row().sm_fill_pct));
    some[19].name = "fill_span_us";
    assert_true(one_row().sm_fill_pct > 0);
    some[18].source = some[19].source =
        "model"; /* a measured share over a modelled time is neither */
    assert_true(isnan(one_row().sm_fill_pct));
}

static void test_modelled_point(void **state)
{
    (void)state;
    struct store_metric some[METRICS + 3];
    memcpy(some, metrics, sizeof metrics);
    for (size_t i = 2; i < METRICS; i++)
        some[i].source = "model";
    some[METRICS] = (struct store_metric){-1, "step_us", 8, "model"};
    some[METRICS + 1] = (struct store_metric){0, "tail_pct", 30, "model"};
    some[METRICS + 2] = (struct store_metric){1, "sms_used", 128, "model"};
    point.metrics = some;
    point.metric_count = METRICS + 3;
    point.sample_count = 0;
    struct row row = one_row();
    assert_true(row.modelled);
    assert_string_equal(row.source, "model");
    assert_string_equal(row.gpu_source, "model");
    assert_string_equal(row.counter_source, "model");
    assert_near(row.step_us, 8, 0);
    assert_true(isnan(row.step_us_lo) && isnan(row.samples));
    assert_near(row.kv_gb_per_s, 112.128, 1e-9); /* 897024 B / 8 us */
    assert_near(row.tail_pct, 30, 1e-12);
    assert_near(row.sms_used, 128, 0);
    assert_near(row.sm_fill_pct, 43.75, 1e-9);
}

/* A planned number does not pass for a counted one. */
static void test_no_modelled_number_in_a_measured_row(void **state)
{
    (void)state;
    struct store_metric some[METRICS + 1];
    memcpy(some, metrics, sizeof metrics);
    some[20].source = "model"; /* l2_to_sm_bytes of main */
    some[METRICS] = (struct store_metric){0, "tail_pct", 30, "model"};
    point.metrics = some;
    point.metric_count = METRICS + 1;
    struct row row = one_row();
    assert_true(isnan(row.kv_reread_x));
    assert_true(isnan(row.tail_pct));
    assert_string_equal(row.counter_source, "range-profiler");
    assert_true(row.modelled);             /* the file holds modelled numbers of this point */
    some[METRICS].source = "sm-residency"; /* measured too */
    assert_near(one_row().tail_pct, 30, 1e-12);
}

static void test_without_cupti(void **state)
{
    (void)state;
    point.metric_count = 2;
    struct row row = one_row();
    assert_near(row.step_us, 10, 1e-12);
    assert_true(isnan(row.gpu_us) && isnan(row.main_us));
    assert_true(isnan(row.achieved_occupancy_pct) && isnan(row.busy_sms) && isnan(row.sm_fill_pct));
    assert_true(isnan(row.throttled));
    assert_null(row.gpu_source);
    assert_null(row.counter_source);
}

static void test_times_by_status(void **state)
{
    (void)state;
    static const struct {
        enum store_status status;
        bool row, times;
    } cases[] = {
        {STORE_OK, true, true},       {STORE_INVALID, true, true},   {STORE_THROTTLED, true, true},
        {STORE_SKIPPED, true, false}, {STORE_FAILED, true, false},   {STORE_MISMATCH, true, false},
        {STORE_TIMEOUT, true, false}, {STORE_PENDING, false, false}, {STORE_RUNNING, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct row *rows;
        point.status = cases[i].status;
        size_t count = row_from_file(&file, &rows);
        assert_int_equal(count, cases[i].row ? 1 : 0);
        if (count > 0) {
            assert_int_equal(!isnan(rows[0].step_us), cases[i].times);
            assert_int_equal(!isnan(rows[0].gpu_us), cases[i].times);
            assert_int_equal(!isnan(rows[0].tokens_per_s), cases[i].times);
            assert_int_equal(!isnan(rows[0].sm_fill_pct), cases[i].times);
            assert_int_equal(rows[0].source != NULL, cases[i].times);
            assert_near(rows[0].theoretical_occupancy_pct, 12.5, 0);
        }
        row_free(rows);
    }
    point.status = STORE_THROTTLED;
    assert_near(one_row().throttled, 1, 0);
}

static void test_no_rate_from_no_time(void **state)
{
    (void)state;
    struct store_sample none = {0, 20};
    point.samples = &none;
    point.sample_count = 1;
    struct row row = one_row();
    assert_near(row.step_us, 0, 0);
    assert_true(isnan(row.tokens_per_s) && isnan(row.tflops) && isnan(row.pct_of_floor));
}

static char *csv_of(struct table *table)
{
    char *bytes = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&bytes, &length);
    assert_int_equal(table_write(table, TABLE_CSV, out), 0);
    fclose(out);
    table_free(table);
    return bytes;
}

static void test_columns_of_points(void **state)
{
    (void)state;
    static const char contract[] =
        "run,device,kernel,variant,heads,concurrency,batch,topk,nsplit,source,status,samples,step_us,step_us_lo,"
        "step_us_hi,gpu_us,tokens_per_s,kv_gb_per_s,tflops,pct_of_floor,theoretical_occupancy_pct,"
        "achieved_occupancy_pct,busy_sms,sm_count,sm_fill_pct,waves,tail_pct,kv_reread_x,l2_hit_pct,sm_clock_mhz,"
        "throttled,rel_error,lse_error,";
    struct row *rows;
    size_t count = row_from_file(&file, &rows);
    char *csv = csv_of(row_table(rows, count));
    assert_int_equal(strncmp(csv, contract, strlen(contract)), 0);
    for (int id = 0; id < AXIS_COUNT; id++) {
        char name[64];
        snprintf(name, sizeof name, ",%s,", axis_info((enum axis_id)id)->name);
        assert_non_null(strstr(csv, name));
    }
    static const char *const labels[] = {",section,",    ",layers,",         ",rest_us,",
                                         ",gpu_source,", ",counter_source,", ",reason,",
                                         ",sms_used,"};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        assert_non_null(strstr(csv, labels[i]));
    const char *line = strchr(csv, '\n') + 1;
    static const char expected[] =
        "1,NVIDIA H200,splitk,,64,3,2,512,8,event,ok,7,10,9,11,7.75,15000,89.7024,20.1327,"
        "3.24096,12.5,12,31.5,132,43.75,0.25,,8,,1755,0,0.0025,1e-07,grid,10,100,";
    assert_memory_equal(line, expected, strlen(expected));
    free(csv);
    row_free(rows);
}

static void test_columns_of_launches(void **state)
{
    (void)state;
    static const char contract[] =
        "run,key,kernel,heads,concurrency,batch,topk,nsplit,ord,role,kernel_name,grid,block,registers,smem_bytes,"
        "gpu_us,theoretical_occupancy_pct,achieved_occupancy_pct,busy_sms,dram_bytes,source,";
    char *csv = csv_of(row_launch_table(&file));
    assert_int_equal(strncmp(csv, contract, strlen(contract)), 0);
    static const char *const lines[] = {
        "1,kernel=splitk concurrency=3 batch=2,splitk,64,3,2,512,8,0,main,smscope_split,2x2x8,256x1x1,199,96024,3,12.5,"
        "12,31.5,1e+06,cupti-activity,range-profiler,2,",
        "1,kernel=splitk concurrency=3 batch=2,splitk,64,3,2,512,8,1,combine,smscope_combine,2x64x1,128x1x1,32,0,1,100,"
        "40,100,,cupti-activity,range-profiler,2,"};
    const char *line = csv;
    for (size_t i = 0; i < 2; i++) {
        line = strchr(line, '\n') + 1;
        assert_int_equal(strncmp(line, lines[i], strlen(lines[i])), 0);
    }
    free(csv);

    point.status = STORE_MISMATCH; /* no times */
    csv = csv_of(row_launch_table(&file));
    assert_non_null(strstr(csv, ",96024,,12.5,12,31.5,1e+06,,range-profiler,2,"));
    free(csv);
    point.status = STORE_RUNNING;
    csv = csv_of(row_launch_table(&file));
    assert_int_equal(strlen(strchr(csv, '\n')), 1);
    free(csv);
}

/* Modelled launches show the plan's bytes. */
static void test_modelled_launch(void **state)
{
    (void)state;
    struct store_metric some[] = {{0, "busy_sms", 2, "model"}, {0, "gpu_us", 3, "model"}};
    point.metrics = some;
    point.metric_count = 2;
    struct row_launch launch;
    row_launch_get(&file, &point, 0, &launch);
    assert_near(launch.dram_bytes, 1000000, 0);
    assert_true(isnan(launch.registers_planned));
    assert_string_equal(launch.counter_source, "model");
    assert_string_equal(launch.source, "model");
    row_launch_get(&file, &point, 1, &launch);
    assert_true(isnan(launch.dram_bytes));
    assert_null(launch.source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_measured_point, set_up),
        cmocka_unit_test_setup(test_floor_by_flops, set_up),
        cmocka_unit_test_setup(test_ceilings_of_the_device_file, set_up),
        cmocka_unit_test_setup(test_mean_of_unlike_main_launches, set_up),
        cmocka_unit_test_setup(test_fill_needs_both_of_every_launch, set_up),
        cmocka_unit_test_setup(test_modelled_point, set_up),
        cmocka_unit_test_setup(test_no_modelled_number_in_a_measured_row, set_up),
        cmocka_unit_test_setup(test_without_cupti, set_up),
        cmocka_unit_test_setup(test_times_by_status, set_up),
        cmocka_unit_test_setup(test_no_rate_from_no_time, set_up),
        cmocka_unit_test_setup(test_columns_of_points, set_up),
        cmocka_unit_test_setup(test_columns_of_launches, set_up),
        cmocka_unit_test_setup(test_modelled_launch, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
