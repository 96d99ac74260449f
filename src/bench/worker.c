#include "bench/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/mem.h"
#include "bench/measure.h"
#include "config.h"
#include "data/gpuspec.h"
#include "data/store.h"
#include "kernels_hash.h"

#ifdef HAVE_CUDA
#include "bench/rig.h"
#include "gpu/cupti.h"
#endif

struct worker {
    const struct sweep *sweep;
    int pipe;
    struct gpuspec spec;
    struct text spec_text;
    const char *uuid, *driver, *cuda;
    char cupti[16];
    struct rig *rig; /* NULL on a model */
    struct store *store;
    struct text path;
};

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

static int parse_ordinal(const char *name, int64_t *ordinal)
{
    if (text_to_int(name, ordinal) && *ordinal >= 0 && *ordinal < 1024)
        return FAIL_OK;
    return fail_set(FAIL_USAGE, "no such device: '%s' (a number, or " SWEEP_MODEL_PREFIX "NAME)",
                    name);
}

#ifdef HAVE_CUDA
static int open_gpu(struct worker *worker, int64_t ordinal)
{
    int code;

    worker->rig = mem_new(1, sizeof *worker->rig);
    code = rig_open(worker->rig, (int)ordinal, worker->sweep->seed);
    if (code != FAIL_OK)
        return code;
    worker->spec = worker->rig->device.spec;
    text_add(&worker->spec_text, worker->rig->device.spec_text.bytes);
    worker->uuid = worker->rig->device.uuid;
    worker->driver = worker->rig->device.driver;
    worker->cuda = worker->rig->device.cuda_driver;
    if (cupti_api_version() > 0)
        snprintf(worker->cupti, sizeof worker->cupti, "%u", cupti_api_version());
    return FAIL_OK;
}
#else
static int open_gpu(struct worker *worker, int64_t ordinal)
{
    (void)worker;
    return fail_set(FAIL_ENV,
                    "device %lld: this smscope was built without CUDA; use -d " SWEEP_MODEL_PREFIX
                    "NAME (smscope list devices)",
                    (long long)ordinal);
}
#endif

static int open_device(struct worker *worker)
{
    const char *name = worker->sweep->device;
    size_t prefix = strlen(SWEEP_MODEL_PREFIX);

    if (strncmp(name, SWEEP_MODEL_PREFIX, prefix) != 0) {
        int64_t ordinal;
        int code = parse_ordinal(name, &ordinal);

        return code == FAIL_OK ? open_gpu(worker, ordinal) : code;
    }
    worker->uuid = worker->driver = worker->cuda = "";
    int code = gpuspec_read(&worker->spec, name + prefix, &worker->spec_text);
    return code == FAIL_OK ? gpuspec_check_model(&worker->spec) : code;
}

/* Device names as in the run table: a model says so. */
static void device_label(const struct worker *worker, struct text *label)
{
    text_add(label, worker->rig ? worker->spec.name : worker->sweep->device);
}

static void default_path(const struct worker *worker, struct text *path)
{
    struct text label = TEXT_INIT;
    char stamp[32];
    time_t now = time(NULL);
    struct tm utc;

    device_label(worker, &label);
    for (size_t i = 0; i < label.length; i++) {
        char c = label.bytes[i];

        if (c >= 'A' && c <= 'Z')
            label.bytes[i] = (char)(c - 'A' + 'a');
        else if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
            label.bytes[i] = '-';
    }
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    text_addf(path, "smscope-%s-%s.db", label.bytes, stamp);
    text_free(&label);
}

static int create_store(struct worker *worker)
{
    struct text label = TEXT_INIT;
    char started[32], cc[16];
    time_t now = time(NULL);
    struct tm utc;
    struct store_run run;
    int code;

    device_label(worker, &label);
    strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    snprintf(cc, sizeof cc, "%d.%d", worker->spec.cc_major, worker->spec.cc_minor);
    run = (struct store_run){
        .started_at = started,
        .command = worker->sweep->command.bytes,
        .workload = worker->sweep->workload->text,
        .seed = (int64_t)worker->sweep->seed,
        .version = (char[]){PACKAGE_VERSION},
        .kernels_hash = (char[]){KERNELS_HASH},
        .device = label.bytes,
        .uuid = (char *)worker->uuid,
        .cc = cc,
        .sm_count = worker->spec.sm_count,
        .driver = (char *)worker->driver,
        .cuda = (char *)worker->cuda,
        .cupti = worker->cupti,
        .spec = worker->spec_text.bytes,
    };
    code = store_create(&worker->store, worker->path.bytes, &run, worker->sweep->points);
    text_free(&label);
    return code;
}

/* A finished run of the same device, workload and kernels. */
static bool is_current(const struct worker *worker, const struct store_file *file)
{
    struct text label = TEXT_INIT;
    bool same;

    device_label(worker, &label);
    same = strcmp(file->run.device, label.bytes) == 0 &&
           strcmp(file->run.uuid, worker->uuid) == 0 &&
           strcmp(file->run.workload, worker->sweep->workload->text) == 0 &&
           strcmp(file->run.kernels_hash, KERNELS_HASH) == 0 &&
           strcmp(file->run.spec, worker->spec_text.bytes) == 0 &&
           file->count == worker->sweep->points->count;
    for (size_t i = 0; same && i < file->count; i++)
        same = file->points[i].status == STORE_OK &&
               strcmp(file->points[i].key, worker->sweep->points->points[i].key) == 0;
    text_free(&label);
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
    return worker->rig && device_is_lost();
#else
    (void)worker;
    return false;
#endif
}

static struct measure measure_of(const struct worker *worker)
{
    return (struct measure){.spec = &worker->spec,
                            .rig = worker->rig,
                            .settings = &worker->sweep->settings,
                            .seed = worker->sweep->seed};
}

/* Returns a fail code only when the run file cannot be written. */
static int one_point(struct worker *worker, size_t ord)
{
    const struct point *point = &worker->sweep->points->points[ord];
    struct measure measure = measure_of(worker);
    struct record record;
    int code = store_begin_point(worker->store, ord);

    if (code != FAIL_OK)
        return code;
    say_ord(worker, 'B', ord);
    record_start(&record);
    measure_phase_begin(&measure, point->key);
    measure_point(&measure, point, &record);
    measure_phase_end(&measure);
    code = store_finish_point(worker->store, ord, record_result(&record));
    record_free(&record);
    if (code == FAIL_OK)
        say_ord(worker, 'E', ord);
    return code;
}

static int all_points(struct worker *worker)
{
    for (size_t ord = 0; ord < worker->sweep->points->count; ord++) {
        enum store_status status;
        int code = store_get_status(worker->store, ord, &status);

        if (code == FAIL_OK && (status == STORE_PENDING || status == STORE_RUNNING))
            code = one_point(worker, ord);
        if (code != FAIL_OK)
            return code;
        if (is_lost(worker))
            return FAIL_DEVICE;
    }
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
    return resume ? store_resume(&worker->store, worker->path.bytes) : create_store(worker);
}

int worker_run(const struct sweep *sweep, bool resume, int pipe)
{
    struct worker worker = {
        .sweep = sweep, .pipe = pipe, .spec_text = TEXT_INIT, .path = TEXT_INIT};
    bool keep = false, lost = false;
    int code = open_device(&worker);

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
        measure_phase_end(&measure);
        lost = is_lost(&worker);
    }
    store_close(worker.store);
    text_free(&worker.spec_text);
    text_free(&worker.path);
    if (lost)
        return WORKER_LOST;
    if (code != FAIL_OK) {
        struct text line = TEXT_INIT;

        text_addf(&line, "%d %s", code, fail_text());
        say(&worker, 'F', line.bytes);
        text_free(&line);
    }
#ifdef HAVE_CUDA
    if (worker.rig)
        rig_close(worker.rig);
    free(worker.rig);
#endif
    return code == FAIL_OK ? 0 : 1;
}
