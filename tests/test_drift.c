/*
 * The run's first point, timed again at the end: from the samples to what readers say.  A stand-in
 * measures it (ld --wrap).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/drifted.h"
#include "analysis/row.h"
#include "base/fail.h"
#include "base/log.h"
#include "bench/drift.h"
#include "bench/record.h"
#include "bench/sweep.h"
#include "cmd/findings.h"
#include "tests/near.h"

/* --- in place of the device --- */

void __wrap_measure_point(const struct measure *measure, const struct point *point,
                          struct record *record);

static double again_ns; /* NaN: it cannot be measured */
static char again_key[80];

void __wrap_measure_point(const struct measure *measure, const struct point *point,
                          struct record *record)
{
    (void)measure;
    snprintf(again_key, sizeof again_key, "%s", point->key);
    if (isnan(again_ns))
        record_status(record, STORE_FAILED, "the device is gone");
    for (int i = 0; i < 10 && !isnan(again_ns); i++)
        record_sample(record, again_ns, 20);
}

/* --- the verdict --- */

static void fill(double values[10], double from, double step)
{
    for (int i = 0; i < 10; i++)
        values[i] = from + step * i;
}

static void check_verdict(double first_from, double first_step, double again_from,
                          double again_step, double moved_pct, bool drifted)
{
    double first[10], again[10];
    struct drift drift;

    fill(first, first_from, first_step);
    fill(again, again_from, again_step);
    assert_true(drift_judge(&drift, first, 10, again, 10));
    assert_near(drift.moved_pct, moved_pct, 1e-9);
    assert_int_equal(drift.drifted, drifted);
}

/* Of ten values the interval reaches from the second to the ninth. */
static void a_move_beyond_the_noise_is_a_drift(void **state)
{
    (void)state;
    check_verdict(100, 1, 110, 1, 100 * (114.5 / 104.5 - 1), true);  /* 101..108, 111..118 */
    check_verdict(100, 1, 107, 1, 100 * (111.5 / 104.5 - 1), false); /* 108..115: they touch */
    check_verdict(100, 1, 107.5, 1, 100 * (112 / 104.5 - 1), true);
    check_verdict(110, 1, 100, 1, 100 * (104.5 / 114.5 - 1), true); /* faster is no better */
    check_verdict(1000, 0, 1000, 0, 0, false);
    check_verdict(1000, 0, 1004, 0, 0.4, false); /* sure, but too little to matter */
    check_verdict(1000, 0, 1006, 0, 0.6, true);
    check_verdict(1000, 0, 994, 0, -0.6, true);
}

static void too_few_samples_give_no_verdict(void **state)
{
    double first[10], again[10];
    struct drift drift;

    (void)state;
    fill(first, 1000, 0);
    fill(again, 2000, 0);
    assert_true(drift_judge(&drift, first, 6, again, 6));
    assert_true(drift.drifted);
    assert_false(drift_judge(&drift, first, 5, again, 10));
    assert_false(drift.drifted);
    assert_false(drift_judge(&drift, first, 10, again, 0));
}

/* --- in a run --- */

static char path[] = "/tmp/smscope-drift.XXXXXX";
static struct point_list points;
static struct store *store;

static int set_up(void **state)
{
    static const char text[] = "[a]\nkernel=mma\ntopk=64,128,256\n";
    static const struct store_run run = {.started_at = "2026-12-01T00:00:00Z",
                                         .command = "",
                                         .workload = "",
                                         .version = "",
                                         .kernels_hash = "",
                                         .device = "NVIDIA H200",
                                         .uuid = "",
                                         .cc = "9.0",
                                         .sm_count = 132,
                                         .driver = "",
                                         .cuda = "",
                                         .cupti = "",
                                         .spec = ""};
    struct workload workload;
    size_t count;
    struct point_kernel *kernels = sweep_kernels(&count);

    (void)state;
    log_set_quiet(true);
    strcpy(path, "/tmp/smscope-drift.XXXXXX");
    close(mkstemp(path));
    assert_int_equal(workload_parse(&workload, "w.ini", text, sizeof text - 1), FAIL_OK);
    assert_int_equal(point_expand(&points, &workload, kernels, count), FAIL_OK);
    assert_int_equal(store_create(&store, path, &run, &points), FAIL_OK);
    workload_free(&workload);
    free(kernels);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_close(store);
    point_free(&points);
    return unlink(path);
}

/* Ten samples of step_us. */
static void finish(size_t ord, enum store_status status, double step_us)
{
    struct record record;

    record_start(&record);
    memcpy(record.used, points.points[ord].asked, sizeof record.used);
    record_status(&record, status, "r");
    for (int i = 0; i < 10 && !isnan(step_us); i++)
        record_sample(&record, 1e3 * step_us, 20);
    assert_int_equal(store_finish_point(store, ord, record_result(&record)), FAIL_OK);
    assert_int_equal(drift_note_point(store, ord, record_result(&record)), FAIL_OK);
    record_free(&record);
}

static void check(double again_us)
{
    const struct measure measure = {0};

    again_ns = 1e3 * again_us;
    assert_int_equal(drift_check(store, path, &measure, &points), FAIL_OK);
}

/* What the column, the line and the findings of the run say. */
static void check_told(double column, const char *line)
{
    struct store_file file;
    struct drifted drifted;
    struct row *rows;
    struct text text = TEXT_INIT;
    char *bytes = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&bytes, &length);

    assert_int_equal(store_read(&file, path), FAIL_OK);
    for (size_t i = row_from_file(&file, &rows); i-- > 0;)
        assert_true(isnan(column) ? isnan(rows[i].drifted) : rows[i].drifted == column);
    row_free(rows);
    drifted_find(&drifted, &file);
    drifted_add_text(&text, &drifted);
    assert_string_equal(text.bytes, line);
    assert_int_equal(findings_print(&file, TABLE_TEXT, out), FAIL_OK);
    fclose(out);
    if (*line)
        assert_non_null(strstr(bytes, line));
    else
        assert_null(strstr(bytes, "beginning of the run"));
    free(bytes);
    text_free(&text);
    store_file_free(&file);
}

/* In the order in which they ran; a point without times, or with a wrong result, is not the first.
 */
static void the_first_point_is_timed_again(void **state)
{
    (void)state;
    finish(2, STORE_FAILED, (double)NAN);
    finish(1, STORE_OK, 20);
    finish(0, STORE_OK, 10);
    check(20.25);
    assert_string_equal(again_key, "kernel=mma topk=128");
    check_told(
        1, "DRIFTED: kernel=mma topk=128 took 20.00 us at the beginning of the run and 20.25 us "
           "at its end (+1.2 %); its points were not measured on equal terms.");
}

static void a_steady_run_says_so(void **state)
{
    (void)state;
    finish(0, STORE_OK, 10);
    check(10.02);
    check_told(0,
               "Steady: kernel=mma topk=64 took 10.00 us at the beginning of the run and 10.02 us "
               "at its end (+0.2 %).");
}

static void a_run_that_drifted_stays_so(void **state)
{
    (void)state;
    finish(0, STORE_OK, 10);
    check(9);
    finish(1, STORE_OK, 10);
    check(10);
    check_told(
        1, "DRIFTED: kernel=mma topk=64 took 10.00 us at the beginning of the run and 9.00 us at "
           "its end (-10.0 %); its points were not measured on equal terms.");
    check(8); /* but a later drift is told */
    check_told(
        1, "DRIFTED: kernel=mma topk=64 took 10.00 us at the beginning of the run and 8.00 us at "
           "its end (-20.0 %); its points were not measured on equal terms.");
}

static void without_a_second_time_there_is_no_verdict(void **state)
{
    (void)state;
    strcpy(again_key, "none");
    check(10); /* no point yet */
    assert_string_equal(again_key, "none");
    finish(0, STORE_OK, 10);
    check((double)NAN);
    assert_string_equal(again_key, "kernel=mma topk=64");
    check_told((double)NAN, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_move_beyond_the_noise_is_a_drift),
        cmocka_unit_test(too_few_samples_give_no_verdict),
        cmocka_unit_test_setup_teardown(the_first_point_is_timed_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_steady_run_says_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_that_drifted_stays_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_second_time_there_is_no_verdict, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
