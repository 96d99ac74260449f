#include "bench/worker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/steady.h"
#include "bench/drift.h"
#include "bench/measure.h"
#include "bench/order.h"
#include "bench/plausible.h"
#include "bench/resume.h"
#include "bench/settings.h"
#include "bench/target.h"
#include "config.h"
#include "data/store.h"
#include "kernels_hash.h"

#ifdef HAVE_CUDA
#include "bench/ceilings.h"
#include "gpu/device.h"
#endif

struct worker {
    const struct sweep *sweep;
    int pipe;
    struct target target;
    struct store *store;
    struct text path;
};

static volatile sig_atomic_t stop_wanted;

void worker_stop(int number)
{
    stop_wanted = number;
}

static void say(const struct worker *worker, char letter, const char *rest)
{
    struct text line = TEXT_INIT;

    text_addf(&line, "%c %s\n", letter, rest);
    /* A parent that is gone takes this process with it. */
    if (write(worker->pipe, line.bytes, line.length) < 0 && errno == EPIPE)
        _exit(1);
    text_free(&line);
}

static void say_ord(const struct worker *worker, char letter, size_t ord)
{
    char number[24];

    snprintf(number, sizeof number, "%zu", ord);
    say(worker, letter, number);
}

static void default_path(const struct worker *worker, struct text *path)
{
    struct text label = TEXT_INIT;
    char stamp[32];
    time_t now = time(NULL);
    struct tm utc;

    text_add(&label, worker->target.label.bytes);
    for (size_t i = 0; i < label.length; i++) {
        char c = label.bytes[i];

        if (c >= 'A' && c <= 'Z')
            label.bytes[i] = (char)(c - 'A' + 'a');
        else if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
            label.bytes[i] = '-';
    }
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    text_addf(path, "smscope-%s-%s.db", label.bytes, stamp);
    for (int n = 2; access(path->bytes, F_OK) == 0; n++) { /* two in a second */
        text_clear(path);
        text_addf(path, "smscope-%s-%s-%d.db", label.bytes, stamp, n);
    }
    text_free(&label);
}

static int create_store(struct worker *worker)
{
    struct store_metric settings[SETTINGS_MOST];
    struct store_run run;

    target_describe(&worker->target, worker->sweep, &run);
    run.settings = settings;
    run.setting_count = settings_metrics(&worker->sweep->settings, settings);
    return store_create(&worker->store, worker->path.bytes, &run, worker->sweep->points);
}

static int resume_store(struct worker *worker)
{
    const struct sweep *sweep = worker->sweep;
    struct store_run run;
    int code = FAIL_OK;

    target_describe(&worker->target, worker->sweep, &run);
    if (sweep->run)
        code = resume_check_device(sweep->run, &run, worker->path.bytes);
    if (code == FAIL_OK)
        code = store_resume(&worker->store, worker->path.bytes);
    if (code == FAIL_OK)
        code = store_extend(worker->store, sweep->points, run.command, run.workload);
    return code;
}

/* A finished run of the same device, workload and kernels. */
static bool is_current(const struct worker *worker, const struct store_file *file)
{
    const struct target *target = &worker->target;
    bool same;

    same = strcmp(file->run.device, target->label.bytes) == 0 &&
           strcmp(file->run.uuid, target->uuid) == 0 &&
           strcmp(file->run.workload, worker->sweep->workload->text) == 0 &&
           strcmp(file->run.kernels_hash, KERNELS_HASH) == 0 &&
           strcmp(file->run.spec, target->spec_text.bytes) == 0 &&
           file->run.seed == (int64_t)worker->sweep->seed &&
           file->count == worker->sweep->points->count;
    for (size_t i = 0; same && i < file->count; i++)
        same = (file->points[i].status == STORE_OK || file->points[i].status == STORE_SKIPPED) &&
               strcmp(file->points[i].key, worker->sweep->points->points[i].key) == 0;
    return same;
}

/* For --if-changed: true when the run file can stay; removes one that cannot,
 * but never a file that is no run. */
static int keep_or_remove(const struct worker *worker, bool *keep)
{
    struct store_file file;
    int code;

    *keep = false;
    if (access(worker->path.bytes, F_OK) != 0)
        return FAIL_OK;
    code = store_read(&file, worker->path.bytes);
    if (code != FAIL_OK)
        return code;
    *keep = is_current(worker, &file);
    store_file_free(&file);
    if (!*keep && unlink(worker->path.bytes) != 0)
        return fail_set(FAIL_DATA, "%s: %s", worker->path.bytes, strerror(errno));
    return FAIL_OK;
}

static bool is_lost(const struct worker *worker)
{
#ifdef HAVE_CUDA
    return worker->target.rig && device_is_lost();
#else
    (void)worker;
    return false;
#endif
}

static struct measure measure_of(const struct worker *worker)
{
    return (struct measure){.spec = &worker->target.spec,
                            .rig = worker->target.rig,
                            .settings = &worker->sweep->settings,
                            .seed = worker->sweep->seed};
}

/* Returns a fail code only when the run file cannot be written. */
static int one_point(struct worker *worker, size_t ord)
{
    const struct point *point = &worker->sweep->points->points[ord];
    struct measure measure = measure_of(worker);
    struct record record;
    double read_roof;
    int code;

    say_ord(worker, 'B', ord);
    code = store_get_run_metric(worker->store, "read_roof_gb_per_s", &read_roof);
    if (code == FAIL_OK)
        code = store_begin_point(worker->store, ord);
    if (code != FAIL_OK)
        return code;
    record_start(&record);
    measure_phase_begin(&measure, point->key);
    measure_point(&measure, point, &record);
    plausible_check(&record, measure.spec, read_roof);
    measure_phase_end(&measure);
    code = store_finish_point(worker->store, ord, record_result(&record));
    if (code == FAIL_OK)
        code = drift_note_point(worker->store, ord, record_result(&record));
    record_free(&record);
    if (code == FAIL_OK)
        say_ord(worker, 'E', ord);
    return code;
}

/* Unless it is in the file already. */
static int next_point(struct worker *worker, size_t ord)
{
    enum store_status status;
    int code = store_get_status(worker->store, ord, &status);

    if (code == FAIL_OK && (status == STORE_PENDING || status == STORE_RUNNING))
        code = one_point(worker, ord);
    return code == FAIL_OK && is_lost(worker) ? FAIL_DEVICE : code;
}

static bool is_over(const struct sweep *sweep)
{
    return stop_wanted || steady_now_s() >= sweep->end_s;
}

static int all_points(struct worker *worker)
{
    const struct sweep *sweep = worker->sweep;
    size_t *order = order_make(sweep->points, sweep->seed);
    int code = FAIL_OK;

    for (size_t i = 0; code == FAIL_OK && i < sweep->points->count && !is_over(sweep); i++)
        code = next_point(worker, order[i]);
    free(order);
    return code;
}

/* Of a sweep that measured more than the one point. */
static int look_for_drift(struct worker *worker)
{
    const struct sweep *sweep = worker->sweep;
    struct measure measure = measure_of(worker);

    if (!worker->target.rig || stop_wanted || sweep->points->count - sweep->done < 2)
        return FAIL_OK;
    say(worker, 'D', "");
    return drift_check(worker->store, worker->path.bytes, &measure, sweep->points);
}

static int measure_ceilings(const struct worker *worker)
{
#ifdef HAVE_CUDA
    if (worker->target.rig)
        return ceilings_measure(worker->store, worker->target.rig);
#else
    (void)worker;
#endif
    return FAIL_OK;
}

static int open_store(struct worker *worker, bool resume, bool *keep)
{
    int code = FAIL_OK;

    *keep = false;
    if (worker->sweep->path.length > 0)
        text_add(&worker->path, worker->sweep->path.bytes);
    else
        default_path(worker, &worker->path);
    if (!resume && worker->sweep->if_changed)
        code = keep_or_remove(worker, keep);
    if (code != FAIL_OK || *keep)
        return code;
    code = resume ? resume_store(worker) : create_store(worker);
    return code == FAIL_OK ? measure_ceilings(worker) : code;
}

int worker_run(const struct sweep *sweep, bool resume, int pipe)
{
    struct worker worker = {.sweep = sweep, .pipe = pipe, .path = TEXT_INIT};
    bool keep = false, lost = false;
    int code = target_open(&worker.target, sweep->device, sweep->seed);

    if (code == FAIL_OK)
        code = open_store(&worker, resume, &keep);
    if (code == FAIL_OK) {
        say(&worker, 'O', worker.path.bytes);
        if (keep)
            say(&worker, 'K', "");
    }
    if (code == FAIL_OK && !keep) {
        struct measure measure = measure_of(&worker);

        measure_phase_begin(&measure, "run");
        code = all_points(&worker);
        if (code == FAIL_OK)
            code = look_for_drift(&worker);
        measure_phase_end(&measure);
        lost = is_lost(&worker);
    }
    store_close(worker.store);
    text_free(&worker.path);
    if (lost)
        return WORKER_LOST;
    if (code != FAIL_OK) {
        struct text line = TEXT_INIT;

        text_addf(&line, "%d %s", code, fail_text());
        say(&worker, 'F', line.bytes);
        text_free(&line);
    }
    target_close(&worker.target);
    return code == FAIL_OK ? 0 : 1;
}
