#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "bench/resume.h"
#include "bench/settings.h"
#include "config.h"
#include "kernels_hash.h"

static char path[] = "/tmp/smscope-resume.XXXXXX";

static int set_up(void **state)
{
    (void)state;
    strcpy(path, "/tmp/smscope-resume.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

/* ---- a run that was recorded, and a sweep that would go on with it ---- */

static const struct store_metric recorded_settings[] = {
    {-1, "setting.samples_least", 50, "command"},
    {-1, "setting.counters", 0, "command"},
};

static struct store_run recorded_run(void)
{
    return (struct store_run){.started_at = "2026-11-30T12:00:00Z",
                              .command = "smscope sweep",
                              .workload = "",
                              .seed = 5,
                              .version = (char *)PACKAGE_VERSION,
                              .kernels_hash = (char *)KERNELS_HASH,
                              .device = "NVIDIA H200",
                              .uuid = "GPU-1",
                              .cc = "9.0",
                              .sm_count = 132,
                              .driver = "580.1",
                              .cuda = "13.0",
                              .cupti = "130001",
                              .spec = "[device]\n",
                              .settings = recorded_settings,
                              .setting_count = 2};
}

static void points_of(struct point_list *points, const char *text)
{
    struct workload workload;
    size_t count;
    struct point_kernel *kernels = sweep_kernels(&count);
    assert_int_equal(workload_parse(&workload, "w.ini", text, strlen(text)), FAIL_OK);
    assert_int_equal(point_expand(points, &workload, kernels, count), FAIL_OK);
    workload_free(&workload);
    free(kernels);
}

/* Two points, the first one is finished and the second one was in flight. */
static void record(const struct store_run *run)
{
    struct point_list points;
    struct store *store;
    const struct store_result skipped = {.status = STORE_SKIPPED, .rel_error = 0, .lse_error = 0};
    points_of(&points, "[a]\nkernel=mma\nconcurrency=3\ntopk=64,128\nlayers=61\nrest_us=2.5\n");
    assert_int_equal(store_create(&store, path, run, &points), FAIL_OK);
    assert_int_equal(store_finish_point(store, 0, &skipped), FAIL_OK);
    assert_int_equal(store_begin_point(store, 1), FAIL_OK);
    store_close(store);
    point_free(&points);
}

static const char *given_names[8];
static struct option_list given;

static int take_up(struct resume *resume, struct sweep *sweep)
{
    *resume = (struct resume){0};
    text_add(&sweep->path, path);
    return resume_take_up(resume, sweep, &given);
}

static void give(const char *name)
{
    given.items = given_names;
    given_names[given.count++] = name;
}

static struct sweep bare_sweep(const struct point_list *asked)
{
    given.count = 0;
    return (struct sweep){.device = "0",
                          .points = asked,
                          .path = TEXT_INIT,
                          .command = TEXT_INIT,
                          .seed = 1,
                          .settings = {.samples_least = 30, .counters = true}};
}

/* ---- tests ---- */

static const struct point_list nothing = {0};

static void the_run_says_what_it_is(void **state)
{
    (void)state;
    struct store_run run = recorded_run();
    struct sweep sweep = bare_sweep(&nothing);
    struct resume resume;
    record(&run);
    assert_int_equal(take_up(&resume, &sweep), FAIL_OK);
    assert_string_equal(sweep.device, "0"); /* which one it is, shows when it is opened */
    assert_int_equal(sweep.seed, 5);
    assert_int_equal(sweep.settings.samples_least, 50);
    assert_false(sweep.settings.counters);
    assert_int_equal(sweep.done, 1);
    assert_int_equal(sweep.points->count, 2);
    const struct point *point = &sweep.points->points[1];
    assert_string_equal(point->key, "kernel=mma concurrency=3 topk=128");
    assert_int_equal(point->batch, 4); /* the bucket that was chosen */
    assert_int_equal(point->calls, 1);
    assert_true(point->layers == 61 && point->rest_us == 2.5);
    assert_string_equal(point->section, "a");
    resume_free(&resume);
    text_free(&sweep.path);
}

static void new_points_come_behind(void **state)
{
    (void)state;
    struct store_run run = recorded_run();
    struct point_list asked;
    points_of(&asked, "[b]\nkernel=mma\nconcurrency=3\ntopk=32,128,64\nlayers=61\nrest_us=2.5\n");
    struct sweep sweep = bare_sweep(&asked);
    struct resume resume;
    record(&run);
    assert_int_equal(take_up(&resume, &sweep), FAIL_OK);
    assert_int_equal(sweep.points->count, 3);
    assert_string_equal(sweep.points->points[0].key, "kernel=mma concurrency=3 topk=64");
    assert_string_equal(sweep.points->points[2].key, "kernel=mma concurrency=3 topk=32");
    assert_string_equal(sweep.points->points[2].section, "b");
    assert_string_equal(sweep.points->points[1].section, "a");
    resume_free(&resume);
    text_free(&sweep.path);
    point_free(&asked);
}

static void check_refused(const struct store_run *run, struct sweep sweep, int code,
                          const char *message)
{
    struct resume resume;
    struct text expected = TEXT_INIT;
    unlink(path);
    record(run);
    assert_int_equal(take_up(&resume, &sweep), code);
    text_addf(&expected, "%s%s", path, message);
    assert_string_equal(fail_text(), expected.bytes);
    text_free(&expected);
    resume_free(&resume);
    text_free(&sweep.path);
}

static void a_contradiction_is_named(void **state)
{
    (void)state;
    struct store_run run = recorded_run();
    struct sweep sweep = bare_sweep(&nothing);

    run.kernels_hash = "00ff";
    check_refused(&run, sweep, FAIL_USAGE,
                  " is a run of another kernels_hash: 00ff, not " KERNELS_HASH);
    run = recorded_run();
    run.version = "0.0.1";
    check_refused(&run, sweep, FAIL_USAGE,
                  " is a run of another smscope version: 0.0.1, not " PACKAGE_VERSION);
    run = recorded_run();
    sweep.seed = 6;
    give("seed");
    check_refused(&run, sweep, FAIL_USAGE, " is a run of another seed: 5, not 6");
    sweep = bare_sweep(&nothing);
    give("samples");
    check_refused(&run, sweep, FAIL_USAGE,
                  " was measured with another --samples (setting.samples_least 50, not 30)");
    sweep = bare_sweep(&nothing);
    sweep.device = "model:h200";
    give("device");
    check_refused(&run, sweep, FAIL_USAGE,
                  " is a run of another device: NVIDIA H200, not model:h200");
    run.device = "model:h200";
    sweep.device = "0";
    check_refused(&run, sweep, FAIL_USAGE, " is a run of another device: model:h200, not 0");
}

static void the_same_key_may_mean_something_else(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[a]\nkernel=mma\nconcurrency=3\ntopk=64\nlayers=60\nrest_us=2.5\n",
         " has kernel=mma concurrency=3 topk=64 with layers = 61, not 60"},
        {"[a]\nkernel=mma\nconcurrency=3\ntopk=64\nlayers=61\n",
         " has kernel=mma concurrency=3 topk=64 with rest_us = 2.5, not 0"},
        {"[a]\nkernel=mma\nconcurrency=3\ntopk=64\nlayers=61\nrest_us=2.5\nbuckets=3\n",
         " has kernel=mma concurrency=3 topk=64 with batch = 4, not 3"},
    };
    const struct store_run run = recorded_run();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct point_list asked;
        points_of(&asked, cases[i].text);
        check_refused(&run, bare_sweep(&asked), FAIL_USAGE, cases[i].message);
        point_free(&asked);
    }
}

static void the_device_is_held_against_the_run(void **state)
{
    (void)state;
    const struct store_run run = recorded_run();
    struct store_run now = recorded_run();

    now.spec = "[device]\nread from the machine, where a clock may differ\n";
    assert_int_equal(resume_check_device(&run, &now, "r.db"), FAIL_OK);
    now.uuid = "GPU-2";
    assert_int_equal(resume_check_device(&run, &now, "r.db"), FAIL_USAGE);
    assert_string_equal(fail_text(), "r.db is a run of another device (uuid): GPU-1, not GPU-2");
    now = run;
    now.driver = "590.2";
    assert_int_equal(resume_check_device(&run, &now, "r.db"), FAIL_USAGE);
    assert_string_equal(fail_text(), "r.db is a run of another driver: 580.1, not 590.2");
    now = run;
    now.cupti = "";
    assert_int_equal(resume_check_device(&run, &now, "r.db"), FAIL_USAGE);
    assert_string_equal(fail_text(), "r.db is a run of another CUPTI version: 130001, not none");
}

static void settings_come_back(void **state)
{
    (void)state;
    const struct pass_settings was = {.samples_least = 77, .ci_pct = 0.25, .counters = true};
    struct pass_settings now = {.samples_least = 6, .counters = false};
    struct store_metric metrics[SETTINGS_MOST];
    struct store_file file = {.metrics = metrics};

    given.count = 0;
    assert_int_equal(settings_take_up(&now, &given, &file, "r.db"), FAIL_OK);
    assert_int_equal(now.samples_least, 6); /* an older run file tells nothing */
    file.metric_count = settings_metrics(&was, metrics);
    assert_int_equal(settings_take_up(&now, &given, &file, "r.db"), FAIL_OK);
    assert_int_equal(now.samples_least, 77);
    assert_true(now.ci_pct == 0.25);
    assert_true(now.counters);
    give("samples");
    give("no-counters");
    assert_int_equal(settings_take_up(&now, &given, &file, "r.db"), FAIL_OK);
    now.counters = false;
    assert_int_equal(settings_take_up(&now, &given, &file, "r.db"), FAIL_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_run_says_what_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(new_points_come_behind, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_contradiction_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_same_key_may_mean_something_else, set_up, tear_down),
        cmocka_unit_test(the_device_is_held_against_the_run),
        cmocka_unit_test(settings_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
