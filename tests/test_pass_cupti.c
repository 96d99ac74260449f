/*
 * What a run holds where CUPTI is missing, refused, taken or lies: the passes that take times,
 * traces and counters, on launches that a stand-in for the device makes, into a run file and back
 * as rows.  Each run is a process of its own, as in a sweep, because CUPTI is opened once in one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/row.h"
#include "base/fail.h"
#include "base/text.h"
#include "bench/pass.h"
#include "bench/rig.h"
#include "gpu/graph.h"
#include "tests/fake_cupti.h"
#include "tests/near.h"
#include "tests/specs.h"

/* --- in place of the device (ld --wrap) --- */

int __wrap_cudaStreamSynchronize(void *stream);
int __wrap_cudaDeviceSynchronize(void);
void *__wrap_device_context(void);
int __wrap_graph_capture(struct graph *graph, void *stream, graph_body *body, void *user);
int __wrap_graph_launch(const struct graph *graph, void *stream);
void __wrap_graph_free(struct graph *graph);
int __wrap_graph_flush(const void *buffer, uint64_t bytes, void *stream);
int __wrap_graph_timer_new(struct graph_timer *timer);
void __wrap_graph_timer_free(struct graph_timer *timer);
int __wrap_graph_timer_begin(struct graph_timer *timer, void *stream);
int __wrap_graph_timer_end(struct graph_timer *timer, void *stream, double *ns);

enum { MAIN_NS = 7000, COMBINE_NS = 2000, GAP_NS = 500 }; /* a step: 10 us with both gaps */

static fake_cupti_kernel *fake_kernel; /* NULL without a CUPTI */
static fake_cupti_clock *fake_clock;
static uint64_t clock_ns = (uint64_t)10 * 3600 * 1000000000;
static uint32_t launches;
static uint32_t noise_ns;   /* spread of the main launch's time */
static const char *foreign; /* a kernel that somebody else launches with each step */
static graph_body *body;
static void *body_user;

int __wrap_cudaStreamSynchronize(void *stream)
{
    (void)stream;
    return 0;
}

int __wrap_cudaDeviceSynchronize(void)
{
    return 0;
}

void *__wrap_device_context(void)
{
    return NULL;
}

static void run(const char *name, uint64_t ns)
{
    clock_ns += GAP_NS;
    if (fake_kernel)
        fake_kernel(clock_ns, clock_ns + ns, name, ++launches);
    clock_ns += ns;
    if (fake_clock)
        fake_clock(clock_ns);
}

int __wrap_graph_capture(struct graph *graph, void *stream, graph_body *captured, void *user)
{
    (void)stream;
    body = captured;
    body_user = user;
    graph->exec = graph;
    return FAIL_OK;
}

int __wrap_graph_launch(const struct graph *graph, void *stream)
{
    (void)graph;
    return body(stream, body_user);
}

void __wrap_graph_free(struct graph *graph)
{
    graph->exec = NULL;
}

int __wrap_graph_flush(const void *buffer, uint64_t bytes, void *stream)
{
    (void)buffer, (void)bytes, (void)stream;
    run("smscope_flush", 50000);
    return FAIL_OK;
}

int __wrap_graph_timer_new(struct graph_timer *timer)
{
    timer->begin = timer->end = NULL;
    return FAIL_OK;
}

void __wrap_graph_timer_free(struct graph_timer *timer)
{
    (void)timer;
}

static uint64_t begun_ns;

int __wrap_graph_timer_begin(struct graph_timer *timer, void *stream)
{
    (void)timer, (void)stream;
    begun_ns = clock_ns;
    return FAIL_OK;
}

int __wrap_graph_timer_end(struct graph_timer *timer, void *stream, double *ns)
{
    (void)timer, (void)stream;
    *ns = (double)(clock_ns - begun_ns);
    return FAIL_OK;
}

static uint64_t noise(void)
{
    static uint32_t turn;

    return noise_ns > 0 ? ++turn * 37 % 101 * noise_ns / 100 : 0;
}

static int launch_pair(const struct plan *plan, const struct kernel_args *args, void *stream)
{
    (void)args, (void)stream;
    for (int i = 0; i < plan->count; i++)
        run(plan->launch[i].name,
            plan->launch[i].role == PLAN_MAIN ? MAIN_NS + noise() : COMBINE_NS);
    if (foreign)
        run(foreign, 100);
    return 0;
}

/* --- one run of three points, in a child --- */

struct setting {
    const char *cupti;   /* path of the library */
    const char *fake;    /* $FAKE_CUPTI; NULL: none */
    const char *later;   /* the same from the second point on */
    const char *foreign; /* as above */
    uint32_t blocks;     /* of the main launch; the fake counts 121 */
    uint32_t noise_ns;   /* as above */
    int64_t most;        /* samples; 0: 6 */
    const char *nvml;    /* $FAKE_NVML, the reasons that hold clocks back; NULL: no NVML */
};

static char folder[] = "/tmp/smscope-test.XXXXXX";

static void path_of(struct text *path, const char *name)
{
    text_clear(path);
    text_addf(path, "%s/%s", folder, name);
}

static void find_fake(void *library)
{
    void *symbol = dlsym(library, "fake_kernel");

    memcpy(&fake_kernel, &symbol, sizeof symbol);
    symbol = dlsym(library, "fake_clock");
    memcpy(&fake_clock, &symbol, sizeof symbol);
}

static void prepare(const struct setting *setting)
{
    struct text path = TEXT_INIT;
    void *library = dlopen(setting->cupti, RTLD_NOW);

    setenv("SMSCOPE_CUPTI", setting->cupti, 1);
    setenv("SMSCOPE_NVML", setting->nvml ? "tests/fake_nvml.so" : "/nowhere/libnvidia-ml.so.1", 1);
    if (setting->nvml)
        setenv("FAKE_NVML", setting->nvml, 1);
    if (setting->fake)
        setenv("FAKE_CUPTI", setting->fake, 1);
    if (library)
        find_fake(library);
    foreign = setting->foreign;
    noise_ns = setting->noise_ns;
    path_of(&path, "stderr");
    int fd = open(path.bytes, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(fd, STDERR_FILENO);
    text_free(&path);
}

/* The fake counts 100 x (range + 1) + length of the metric's name: 121 and 221 blocks. */
static void make_context(struct pass_context *context, const struct setting *setting)
{
    const struct plan_launch launch[] = {
        {.role = PLAN_MAIN,
         .name = "first",
         .grid = {setting->blocks, 1, 1},
         .block = {256, 1, 1},
         .registers = 168,
         .barriers = 1},
        {.role = PLAN_COMBINE,
         .name = "second",
         .grid = {221, 1, 1},
         .block = {128, 1, 1},
         .registers = 32,
         .barriers = 1},
    };

    context->plan.count = 2;
    context->plan.launch[0] = launch[0];
    context->plan.launch[1] = launch[1];
    context->shape = (struct kernel_shape){.heads = 64, .batch = 1, .topk = 512};
    context->spec = &spec_h200;
    context->step_us = (double)NAN;
}

static void run_point(struct store *store, const struct point *point, size_t ord,
                      const struct setting *setting)
{
    static const struct kernel pair = {.name = "pair", .launch = launch_pair};
    const struct pass_settings settings = {.samples_least = 6,
                                           .samples_most = setting->most > 0 ? setting->most : 6,
                                           .ci_pct = 0.5,
                                           .timing_s = 1,
                                           .counters = true};
    static char memory[1 << 20];
    struct rig rig = {.rows = 1, .steps = 2, .q.bytes = memory, .out.bytes = memory};
    struct record record;
    struct pass_context context = {
        .point = point, .kernel = &pair, .settings = &settings, .record = &record, .rig = &rig};
    int code = FAIL_OK;

    snprintf(rig.device.uuid, sizeof rig.device.uuid, "GPU-fake");
    rig.lse.bytes = memory;
    rig.flush = (struct buffer){memory, sizeof memory};
    record_start(&record);
    memcpy(record.used, point->asked, sizeof record.used);
    make_context(&context, setting);
    for (size_t i = 0; code == FAIL_OK && i < pass_count; i++)
        if (pass_table[i].where != PASS_MODEL && strcmp(pass_table[i].name, "check") != 0)
            code = pass_table[i].run(&context);
    if (code != FAIL_OK)
        record_status(&record, STORE_FAILED, fail_text());
    if (store_begin_point(store, ord) != FAIL_OK ||
        store_finish_point(store, ord, record_result(&record)) != FAIL_OK)
        _exit(2);
    record_free(&record);
    free(context.launch_us);
}

static void run_points(const struct setting *setting)
{
    const struct point_kernel kernel = {"pair", ~0u};
    struct store_run run = {.started_at = (char[]){"2026-01-01T00:00:00Z"},
                            .command = (char[]){""},
                            .workload = (char[]){""},
                            .version = (char[]){""},
                            .kernels_hash = (char[]){""},
                            .device = (char[]){"NVIDIA H200"},
                            .uuid = (char[]){""},
                            .cc = (char[]){"9.0"},
                            .sm_count = 132,
                            .driver = (char[]){""},
                            .cuda = (char[]){""},
                            .cupti = (char[]){""}};
    struct workload workload;
    struct point_list points;
    struct store *store;
    struct text path = TEXT_INIT, spec = TEXT_INIT;

    path_of(&path, "run.db");
    gpuspec_write(&spec, &spec_h200);
    run.spec = spec.bytes;
    prepare(setting);
    if (workload_from_axes(&workload) != FAIL_OK ||
        workload_override(&workload, "topk=128,256,512") != FAIL_OK ||
        point_expand(&points, &workload, &kernel, 1) != FAIL_OK ||
        store_create(&store, path.bytes, &run, &points) != FAIL_OK)
        _exit(1);
    for (size_t i = 0; i < points.count; i++) {
        if (i > 0 && setting->later)
            setenv("FAKE_CUPTI", setting->later, 1);
        run_point(store, &points.points[i], i, setting);
    }
    store_close(store);
    point_free(&points);
    workload_free(&workload);
    text_free(&path);
    text_free(&spec);
}

/* --- what the run file and stderr say then --- */

struct outcome {
    struct store_file file;
    struct row *rows;
    struct text said;
};

static void measure(struct outcome *outcome, const struct setting *setting)
{
    struct text path = TEXT_INIT;
    int status = -1;
    pid_t child;

    path_of(&path, "run.db");
    unlink(path.bytes);
    child = fork();
    if (child == 0) {
        run_points(setting);
        _exit(0);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    assert_int_equal(store_read(&outcome->file, path.bytes), FAIL_OK);
    outcome->said = (struct text)TEXT_INIT;
    path_of(&path, "stderr");
    assert_int_equal(text_read_file(&outcome->said, path.bytes), FAIL_OK);
    text_free(&path);
    assert_int_equal(row_from_file(&outcome->file, &outcome->rows), 3);
}

static void forget(struct outcome *outcome)
{
    row_free(outcome->rows);
    store_file_free(&outcome->file);
    text_free(&outcome->said);
}

static int count(const char *text, const char *word)
{
    int found = 0;

    for (; (text = strstr(text, word)) != NULL; text++)
        found++;
    return found;
}

/* Every point has its time by events. */
static void assert_timed(const struct outcome *outcome)
{
    for (int i = 0; i < 3; i++) {
        assert_near(outcome->rows[i].step_us, 10, 1e-9);
        assert_string_equal(outcome->rows[i].source, "event");
    }
}

static void assert_traced(const struct outcome *outcome)
{
    for (int i = 0; i < 3; i++) {
        assert_near(outcome->rows[i].gpu_us, 9, 1e-9); /* without the gaps */
        assert_near(outcome->rows[i].main_us, 7, 1e-9);
        assert_near(outcome->rows[i].combine_us, 2, 1e-9);
        assert_string_equal(outcome->rows[i].gpu_source, "cupti-activity");
    }
}

static void assert_not_counted(const struct outcome *outcome)
{
    for (int i = 0; i < 3; i++) {
        const struct row *row = &outcome->rows[i];

        assert_true(isnan(row->achieved_occupancy_pct) && isnan(row->busy_sms));
        assert_true(isnan(row->sm_fill_pct) && isnan(row->kv_reread_x));
        assert_null(row->counter_source);
        assert_true(row->theoretical_occupancy_pct > 0); /* of the plan, so still there */
        assert_false(row->modelled);
        assert_string_equal(row->status, "ok");
    }
}

static const struct setting good = {.cupti = "tests/fake_cupti.so", .blocks = 121};

static void everything_is_measured_where_cupti_works(void **state)
{
    struct outcome outcome;

    (void)state;
    measure(&outcome, &good);
    assert_timed(&outcome);
    assert_traced(&outcome);
    for (int i = 0; i < 3; i++) {
        const struct row *row = &outcome.rows[i];

        assert_string_equal(row->status, "ok");
        assert_null(row->reason);
        assert_string_equal(row->counter_source, "range-profiler");
        /* lengths of the names: 49, 21 and 21, 34; main is range 0 */
        assert_near(row->achieved_occupancy_pct, 149, 1e-9);
        assert_near(row->busy_sms, 121.0 / 121, 1e-9);
        assert_near(row->sm_clock_mhz, 134e-6, 1e-12);
        /* of names of 49 and 38 letters */
        assert_near(row->l2_hit_pct, 100 * 149.0 / 138, 1e-9);
    }
    assert_string_equal(outcome.said.bytes, "");
    forget(&outcome);
}

/* A step is 10 to 14 us, its median not known within 0.5 % after 6 samples, but after some more;
 * with 20 us more it is not after 50, which costs the point nothing but a word. */
static void samples_are_taken_until_the_median_is_known(void **state)
{
    struct setting setting = good;
    struct outcome outcome;

    (void)state;
    setting.noise_ns = 4000;
    setting.most = 5000;
    measure(&outcome, &setting);
    for (int i = 0; i < 3; i++) {
        const struct row *row = &outcome.rows[i];

        assert_string_equal(row->status, "ok");
        assert_null(row->reason);
        assert_true(row->samples > 20 && row->samples < 5000);
        assert_true(row->step_us_hi - row->step_us <= 0.0050001 * row->step_us);
        assert_true(row->step_us - row->step_us_lo <= 0.0050001 * row->step_us);
    }
    forget(&outcome);
    setting.noise_ns = 20000;
    setting.most = 50;
    measure(&outcome, &setting);
    for (int i = 0; i < 3; i++) {
        const struct row *row = &outcome.rows[i];

        assert_string_equal(row->status, "ok");
        assert_non_null(strstr(row->reason, "step_us is known within "));
        assert_non_null(strstr(row->reason, " %, not 0.5 %, after 50 samples"));
        assert_near(row->samples, 50, 0);
        assert_true(row->step_us > 10);
    }
    forget(&outcome);
}

static void a_throttled_point_keeps_its_times(void **state)
{
    static const struct {
        const char *name;
        double value;
    } told[] = {
        {"sm_clock_mhz_min", 1500},     {"sm_clock_mhz_median", 1500}, {"sm_clock_mhz_max", 1500},
        {"memory_clock_mhz_min", 3201}, {"power_w_median", 698.5},     {"temperature_c_max", 61},
        {"throttle_reasons", 0x24},
    };
    struct setting setting = good;
    struct outcome outcome;

    (void)state;
    setting.nvml = "0x24"; /* heat, and the power cap */
    measure(&outcome, &setting);
    assert_timed(&outcome);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(outcome.rows[i].status, "throttled");
        assert_string_equal(outcome.rows[i].reason, "clocks held back by power_cap+thermal");
        assert_near(outcome.rows[i].throttled, 1, 0);
        for (size_t m = 0; m < sizeof told / sizeof *told; m++) {
            const char *source;

            assert_near(store_find_metric(&outcome.file.points[i], -1, told[m].name, &source),
                        told[m].value, 1e-9);
            assert_string_equal(source, "nvml");
        }
    }
    forget(&outcome);
}

static void refused_counters_cost_the_occupancy_alone(void **state)
{
    struct setting setting = good;
    struct outcome outcome;

    (void)state;
    setting.fake = "cuptiProfilerGetCounterAvailability=35";
    measure(&outcome, &setting);
    assert_timed(&outcome);
    assert_traced(&outcome);
    assert_not_counted(&outcome);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(count(outcome.rows[i].reason, "occupancy not measured: "), 1);
        assert_int_equal(count(outcome.rows[i].reason, "NVreg_RestrictProfilingToAdminUsers=0"), 1);
    }
    assert_int_equal(count(outcome.said.bytes, "\n"), 1);
    assert_int_equal(count(outcome.said.bytes, "NVreg_RestrictProfilingToAdminUsers=0"), 1);
    forget(&outcome);
}

/* Neither a trace nor counters: two things are missing, for one reason with one remedy. */
static void check_nothing_but_events(const struct setting *setting, const char *remedy)
{
    struct outcome outcome;

    measure(&outcome, setting);
    assert_timed(&outcome);
    assert_not_counted(&outcome);
    for (int i = 0; i < 3; i++) {
        const struct row *row = &outcome.rows[i];

        assert_true(isnan(row->gpu_us) && isnan(row->main_us) && isnan(row->combine_us));
        assert_null(row->gpu_source);
        assert_int_equal(count(row->reason, "gpu_us not measured: "), 1);
        assert_int_equal(count(row->reason, "occupancy not measured for the same reason"), 1);
        assert_int_equal(count(row->reason, remedy), 1);
    }
    assert_int_equal(count(outcome.said.bytes, "\n"), 2);
    assert_int_equal(count(outcome.said.bytes, remedy), 1);
    forget(&outcome);
}

static void a_missing_cupti_leaves_the_times_by_events(void **state)
{
    struct setting setting = good;

    (void)state;
    setting.cupti = "/nowhere/libcupti.so";
    check_nothing_but_events(&setting, "SMSCOPE_CUPTI names a library that cannot be loaded");
}

static void another_subscriber_leaves_the_times_by_events(void **state)
{
    struct setting setting = good;

    (void)state;
    setting.fake = "cuptiActivityEnable=39,cuptiRangeProfilerEnable=39";
    check_nothing_but_events(&setting, "another profiler is attached to this program (nsys");
}

/* Records that are not exactly what was launched: the point is invalid, and says which. */
static void check_invalid(const struct setting *setting, const char *reason)
{
    struct outcome outcome;

    measure(&outcome, setting);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(outcome.rows[i].status, "invalid");
        assert_true(outcome.rows[i].step_us > 0);
        assert_non_null(strstr(outcome.rows[i].reason, reason));
    }
    forget(&outcome);
}

static void records_and_ranges_that_are_not_ours_are_invalid(void **state)
{
    struct setting setting = good;

    (void)state;
    setting.foreign = "somebody_elses";
    check_invalid(&setting, "kernel records: 20 for 20 launches; 10 foreign (somebody_elses)");
    setting = good;
    setting.blocks = 120;
    check_invalid(&setting, "a counter range of first counted 121 blocks, not 120");
}

/* One record in 25 is spoilt: the point has no time by CUPTI, and tells what was wrong.  The first
 * record of a trace is that of a flush, which is no launch of ours. */
static void a_spoilt_record_makes_the_point_invalid(void **state)
{
    static const struct {
        const char *fake, *reason;
    } cases[] = {
        {"lost=3", "kernel records: 19 for 20 launches; number 2 is out of order (first)"},
        {"lost=25", "kernel records: 19 for 20 launches"},
        {"dropped=3", "kernel records: 19 for 20 launches; 1 dropped"},
        {"zero=3", "kernel records: 19 for 20 launches; 1 zero"},
        {"reversed=3", "kernel records: 19 for 20 launches; 1 reversed"},
        {"sentinel=3", "kernel records: 19 for 20 launches; 1 sentinel"},
        {"duplicate=3", "kernel records: 20 for 20 launches; 1 duplicate"},
        {"foreign=3", "kernel records: 19 for 20 launches; 1 foreign"},
        {"duplicate=1", "kernel records: 20 for 20 launches; 1 duplicate"},
    };
    struct setting setting = good;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome outcome;

        setting.fake = cases[i].fake;
        measure(&outcome, &setting);
        for (int row = 0; row < 3; row++) {
            assert_string_equal(outcome.rows[row].status, "invalid");
            assert_string_equal(outcome.rows[row].reason, cases[i].reason);
            assert_true(isnan(outcome.rows[row].gpu_us));
            assert_true(outcome.rows[row].step_us > 0);
        }
        forget(&outcome);
    }
}

/* CUPTI fails from the second point on: their times are by events, as before, and no column fills
 * itself from somewhere else. */
static void a_cupti_that_fails_later_leaves_its_columns_empty(void **state)
{
    struct setting setting = good;
    struct outcome outcome;

    (void)state;
    setting.later = "cuptiActivityEnable=999,cuptiRangeProfilerEnable=999";
    measure(&outcome, &setting);
    assert_timed(&outcome);
    assert_string_equal(outcome.rows[0].gpu_source, "cupti-activity");
    assert_string_equal(outcome.rows[0].counter_source, "range-profiler");
    for (int i = 1; i < 3; i++) {
        assert_true(isnan(outcome.rows[i].gpu_us) && isnan(outcome.rows[i].busy_sms));
        assert_null(outcome.rows[i].gpu_source);
        assert_null(outcome.rows[i].counter_source);
        assert_non_null(strstr(outcome.rows[i].reason, "gpu_us not measured"));
    }
    forget(&outcome);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"run.db", "stderr"};
    struct text path = TEXT_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        path_of(&path, names[i]);
        unlink(path.bytes);
    }
    text_free(&path);
    return rmdir(folder);
}

#ifdef HAVE_CUPTI_RANGE
enum { HAS_RANGES = 1 };
#else
enum { HAS_RANGES = 0 };
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_measured_where_cupti_works),
        cmocka_unit_test(samples_are_taken_until_the_median_is_known),
        cmocka_unit_test(a_throttled_point_keeps_its_times),
        cmocka_unit_test(refused_counters_cost_the_occupancy_alone),
        cmocka_unit_test(a_missing_cupti_leaves_the_times_by_events),
        cmocka_unit_test(another_subscriber_leaves_the_times_by_events),
        cmocka_unit_test(records_and_ranges_that_are_not_ours_are_invalid),
        cmocka_unit_test(a_spoilt_record_makes_the_point_invalid),
        cmocka_unit_test(a_cupti_that_fails_later_leaves_its_columns_empty),
    };

    if (!HAS_RANGES) {
        puts("1..0 # SKIP built without CUPTI's range profiler");
        return 0;
    }
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
