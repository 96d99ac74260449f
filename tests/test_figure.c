#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 30 };

/* Rows as row_from_file() would make them, typed in by hand. */
struct made {
    struct store_point_read points[MOST];
    struct row rows[MOST];
    size_t count;
};

static struct row *add(struct made *made, const char *kernel, const char *key, double concurrency,
                       double batch)
{
    struct store_point_read *point = &made->points[made->count];
    struct row *row = &made->rows[made->count];
    double *const missing[] = {&row->tokens_per_s,
                               &row->achieved_occupancy_pct,
                               &row->theoretical_occupancy_pct,
                               &row->busy_sms,
                               &row->sm_fill_pct,
                               &row->main_us,
                               &row->combine_us,
                               &row->step_us,
                               &row->kv_reread_x};

    *point = (struct store_point_read){.ord = (int64_t)made->count, .status = STORE_OK};
    point->key = (char *)(uintptr_t)key;
    point->axis[AXIS_KERNEL] = (char *)(uintptr_t)kernel;
    *row = (struct row){.point = point, .topk = 512, .concurrency = concurrency, .batch = batch};
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        *missing[i] = NAN;
    made->count++;
    return row;
}

static void expect(const struct made *made, const char *name, size_t points, const char *tsv)
{
    const struct figure *figure = figure_list;
    struct text text = TEXT_INIT;
    size_t modelled;

    while (strcmp(figure->name, name) != 0)
        figure++;
    assert_int_equal(figure_data(figure, made->rows, made->count, &text, &modelled), points);
    assert_string_equal(text.bytes, tsv);
    text_free(&text);
}

/* Concurrency 4: batches 4 and 8 hold it, 4 is drawn.  16: none does, the largest is drawn. */
static void test_throughput_takes_smallest_that_holds(void **state)
{
    struct made made = {.count = 0};

    (void)state;
    add(&made, "mma", "kernel=mma concurrency=4 batch=8", 4, 8)->tokens_per_s = 108;
    add(&made, "mma", "kernel=mma concurrency=4 batch=4", 4, 4)->tokens_per_s = 104;
    add(&made, "mma", "kernel=mma concurrency=4 batch=2", 4, 2)->tokens_per_s = 102;
    add(&made, "mma", "kernel=mma concurrency=16 batch=4", 16, 4)->tokens_per_s = 164;
    add(&made, "mma", "kernel=mma concurrency=16 batch=8", 16, 8)->tokens_per_s = 168;
    expect(&made, "throughput", 2,
           "panel\tline\tkernel\tconcurrency\tbatch\tgroup\ttokens_per_s\n"
           "topk=512\tmma\tmma\t4\t4\t0\t104\n"
           "topk=512\tmma\tmma\t16\t8\t1\t168\n");
}

/* Batch 8: concurrency 8 is the batch; batch 16 has two of several calls, the smaller is drawn. */
static void test_batch_figures_take_one_call(void **state)
{
    struct made made = {.count = 0};

    (void)state;
    add(&made, "simt", "kernel=simt concurrency=1 batch=8", 1, 8)->busy_sms = 1;
    add(&made, "simt", "kernel=simt concurrency=8 batch=8", 8, 8)->busy_sms = 2;
    add(&made, "simt", "kernel=simt concurrency=64 batch=8", 64, 8)->busy_sms = 3;
    add(&made, "simt", "kernel=simt concurrency=64 batch=16", 64, 16)->busy_sms = 4;
    add(&made, "simt", "kernel=simt concurrency=32 batch=16", 32, 16)->sm_fill_pct = 50.5;
    expect(&made, "fill", 2,
           "panel\tline\tkernel\tconcurrency\tbatch\tgroup\tbusy_sms\tsm_fill_pct\n"
           "topk=512\tsimt\tsimt\t8\t8\t0\t2\tNaN\n"
           "topk=512\tsimt\tsimt\t32\t16\t1\tNaN\t50.5\n");
}

/* Panels by topk as a number, lines as in the run; what every key has is not named. */
static void test_panels_and_lines_are_named(void **state)
{
    struct made made = {.count = 0};

    (void)state;
    add(&made, "splitk", "kernel=splitk nsplit=4 page=128", 1, 1)->kv_reread_x = 2;
    add(&made, "simt", "kernel=simt heads=16 page=128", 1, 1)->kv_reread_x = 16;
    add(&made, "simt", "kernel=simt page=128", 1, 1)->kv_reread_x = 64;
    add(&made, "simt", "kernel=simt topk=1024 page=128", 1, 1)->kv_reread_x = 63.5;
    made.rows[3].topk = 1024;
    expect(&made, "reread", 4,
           "panel\tline\tkernel\tconcurrency\tbatch\tgroup\tkv_reread_x\n"
           "topk=512\tsplitk,nsplit=4\tsplitk\t1\t1\t0\t2\n"
           "topk=512\tsimt\tsimt\t1\t1\t0\t64\n"
           "topk=512,heads=16\tsimt\tsimt\t1\t1\t0\t16\n"
           "topk=1024\tsimt\tsimt\t1\t1\t0\t63.5\n");
}

/* In the order they stand: by topk. */
static void test_panels_beyond_the_page_are_left_out(void **state)
{
    struct made made = {.count = 0};
    struct text tsv = TEXT_INIT;
    char keys[MOST][32];
    size_t modelled;

    (void)state;
    for (int i = 0; i < MOST; i++) {
        snprintf(keys[i], sizeof keys[i], "kernel=mma topk=%d", MOST - i);
        add(&made, "mma", keys[i], 1, 1)->kv_reread_x = 2;
        made.rows[i].topk = MOST - i;
    }
    assert_int_equal(figure_data(&figure_list[4], made.rows, made.count, &tsv, &modelled),
                     FIGURE_PANELS);
    assert_non_null(strstr(tsv.bytes, "\ntopk=1\t"));
    assert_non_null(strstr(tsv.bytes, "\ntopk=24\t"));
    assert_null(strstr(tsv.bytes, "\ntopk=25\t"));
    text_free(&tsv);
}

static void test_unfit_points_are_left_out(void **state)
{
    struct made made = {.count = 0};
    const enum store_status drawn[] = {STORE_INVALID, STORE_THROTTLED};
    const enum store_status hidden[] = {STORE_FAILED, STORE_MISMATCH, STORE_SKIPPED, STORE_TIMEOUT};

    (void)state;
    add(&made, "mma", "kernel=mma", 1, 1)->main_us = 5;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        made.points[0].status = hidden[i];
        expect(&made, "gpu-time", 0,
               "panel\tline\tkernel\tconcurrency\tbatch\tgroup\tmain_us\tcombine_us\tstep_us\n");
    }
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++) {
        made.points[0].status = drawn[i];
        expect(&made, "gpu-time", 1,
               "panel\tline\tkernel\tconcurrency\tbatch\tgroup\tmain_us\tcombine_us\tstep_us\n"
               "topk=512\tmma\tmma\t1\t1\t0\t5\tNaN\tNaN\n");
    }
    made.rows[0].main_us = NAN; /* a step time alone makes no bar */
    made.rows[0].step_us = 6;
    expect(&made, "gpu-time", 0,
           "panel\tline\tkernel\tconcurrency\tbatch\tgroup\tmain_us\tcombine_us\tstep_us\n");
}

static void test_names_cannot_break_the_data(void **state)
{
    struct made made = {.count = 0};

    (void)state;
    add(&made, "a\tb \"c\n", "kernel=x", 1, 1)->kv_reread_x = 2;
    expect(&made, "reread", 1,
           "panel\tline\tkernel\tconcurrency\tbatch\tgroup\tkv_reread_x\n"
           "topk=512\ta_b__c_\ta_b__c_\t1\t1\t0\t2\n");
}

static void test_modelled_points_are_counted(void **state)
{
    struct made made = {.count = 0};
    struct text text = TEXT_INIT;
    size_t modelled;

    (void)state;
    add(&made, "mma", "kernel=mma", 1, 1)->tokens_per_s = 5;
    assert_int_equal(figure_data(&figure_list[0], made.rows, made.count, &text, &modelled), 1);
    assert_int_equal(modelled, 0);
    made.rows[0].modelled = true;
    assert_int_equal(figure_data(&figure_list[0], made.rows, made.count, &text, &modelled), 1);
    assert_int_equal(modelled, 1);
    text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_throughput_takes_smallest_that_holds),
        cmocka_unit_test(test_batch_figures_take_one_call),
        cmocka_unit_test(test_panels_and_lines_are_named),
        cmocka_unit_test(test_panels_beyond_the_page_are_left_out),
        cmocka_unit_test(test_unfit_points_are_left_out),
        cmocka_unit_test(test_names_cannot_break_the_data),
        cmocka_unit_test(test_modelled_points_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
