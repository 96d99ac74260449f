#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/fail.h"
#include "base/text.h"
#include "data/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64]; /* a fresh one for each test, also its current folder and its TMPDIR/.. */
static char path[96];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/smscope-store.XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chdir(folder), 0);
    snprintf(path, sizeof path, "%s/run.db", folder);
    assert_int_equal(mkdir("tmp", 0777), 0);
    assert_int_equal(chmod("tmp", 0777), 0);
    char tmp[96];
    snprintf(tmp, sizeof tmp, "%s/tmp", folder);
    setenv("TMPDIR", tmp, 1);
    return 0;
}

static void remove_all(const char *name)
{
    DIR *entries = opendir(name);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char inner[400];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof inner, "%s/%s", name, entry->d_name);
        if (unlink(inner) != 0)
            remove_all(inner);
    }
    closedir(entries);
    rmdir(name);
}

static int tear_down(void **state)
{
    (void)state;
    chmod(folder, 0755);
    assert_int_equal(chdir("/"), 0);
    remove_all(folder);
    return 0;
}

/* ---- a small run ---- */

static struct point make_point(char *key, const char *kernel, int64_t batch)
{
    struct point point = {.concurrency = 3,
                          .batch = (uint32_t)batch,
                          .calls = 2,
                          .section = "grid",
                          .layers = 61,
                          .rest_us = 2500.5,
                          .key = key};
    for (int id = 0; id < AXIS_COUNT; id++)
        point.applies[id] = id != AXIS_EXTRA_LENGTH && id != AXIS_NSPLIT;
    strcpy(point.asked[AXIS_KERNEL].word, kernel);
    strcpy(point.asked[AXIS_BATCH].word, "auto");
    point.asked[AXIS_TOPK].number = 512;
    return point;
}

static const struct store_run a_run = {.id = 7,
                                       .started_at = "2026-11-30T12:00:00Z",
                                       .command = "smscope sweep -a 'topk=1:3'",
                                       .workload = "[a]\ntopk = 512\n",
                                       .seed = -1,
                                       .version = "0.1",
                                       .kernels_hash = "abc",
                                       .device = "NVIDIA Gr\xc3\xa4t \"7\"",
                                       .uuid = "GPU-1",
                                       .cc = "9.0",
                                       .sm_count = 132,
                                       .driver = "580",
                                       .cuda = "13.0",
                                       .cupti = "",
                                       .spec = "[gpu]\n"};

static int create(struct store **store, const char *name)
{
    struct point points[] = {make_point("kernel=simt batch=auto", "simt", 4),
                             make_point("kernel=mma batch=auto", "mma", 2),
                             make_point("kernel=x", "x", 1)};
    const struct point_list list = {.points = points, .count = 3};
    return store_create(store, name, &a_run, &list);
}

static void create_closed(void)
{
    struct store *store;
    assert_int_equal(create(&store, path), FAIL_OK);
    store_close(store);
}

static const struct store_launch some_launches[] = {
    {0,
     2,
     "main",
     "smscope_simt",
     {4, 64, 1},
     {128, 1, 1},
     96,
     16,
     4096,
     5,
     1000,
     UINT64_C(3000000000)},
    {1, 2, "combine", "smscope_combine", {1, 2, 3}, {32, 2, 1}, 40, 0, 0, 16, 12, 34},
};
static const struct store_sample some_samples[] = {{1234.5, 20}, {1200.25, 20}, {1300, 20}};
static const struct store_metric some_metrics[] = {
    {-1, "gpu_us", 1.125, "cupti-activity"},
    {0, "gpu_us", 0.5, "cupti-activity"},
    {1, "gpu_us", 0.25, "cupti-activity"},
    {1, "busy_sms", NAN, "range-profiler"},
};

static struct store_result some_result(void)
{
    return (struct store_result){.status = STORE_OK,
                                 .rel_error = 3.5e-3,
                                 .lse_error = (double)INFINITY,
                                 .launches = some_launches,
                                 .launch_count = 2,
                                 .samples = some_samples,
                                 .sample_count = 3,
                                 .metrics = some_metrics,
                                 .metric_count = 4};
}

/* ---- files ---- */

/* The bytes of a file; to be freed with text_free(). */
static struct text bytes_of(const char *name)
{
    struct text bytes = TEXT_INIT;
    assert_int_equal(text_read_file(&bytes, name), FAIL_OK);
    return bytes;
}

static void assert_bytes(const char *name, const struct text *before)
{
    struct text now = bytes_of(name);
    assert_int_equal(now.length, before->length);
    assert_memory_equal(now.bytes, before->bytes, now.length);
    text_free(&now);
}

static void put_bytes(const char *name, const char *bytes, size_t length)
{
    assert_int_equal(text_write_file(name, bytes, length), FAIL_OK);
}

static size_t files_in(const char *name)
{
    size_t count = 0;
    DIR *entries = opendir(name);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));)
        count += entry->d_name[0] != '.';
    closedir(entries);
    return count;
}

/* The one line that a failure leaves. */
static void assert_said(const char *part)
{
    assert_null(strchr(fail_text(), '\n'));
    if (!strstr(fail_text(), part))
        fail_msg("'%s' does not say '%s'", fail_text(), part);
}

static void assert_unreadable(const char *name, const char *part)
{
    struct store_file file;
    assert_int_equal(store_read(&file, name), FAIL_DATA);
    assert_said(part);
    assert_said(name);
    assert_null(file.points);
}

/* Waits for a child; its exit code, or minus its signal. */
static int wait_for(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ---- tests ---- */

static void test_all_comes_back(void **state)
{
    (void)state;
    struct store *store;
    struct axis_value used[AXIS_COUNT] = {0};
    strcpy(used[AXIS_KERNEL].word, "simt");
    used[AXIS_BATCH].number = 4;
    used[AXIS_NSPLIT].number = 9; /* does not apply, so it is not shown */
    struct store_result result = some_result();
    result.used = used;
    assert_int_equal(create(&store, path), FAIL_OK);
    assert_int_equal(store_begin_point(store, 0), FAIL_OK);
    assert_int_equal(store_finish_point(store, 0, &result), FAIL_OK);
    assert_int_equal(store_begin_point(store, 1), FAIL_OK);
    assert_int_equal(store_put_run_metric(store, "read_roof_gb_per_s", 4400, "event"), FAIL_OK);
    assert_int_equal(store_put_run_metric(store, "read_roof_gb_per_s", 4420, "event"), FAIL_OK);
    store_close(store);

    struct store_file file;
    assert_int_equal(store_read(&file, path), FAIL_OK);
    assert_int_equal(file.run.id, 7);
    assert_string_equal(file.run.command, a_run.command);
    assert_string_equal(file.run.workload, a_run.workload);
    assert_string_equal(file.run.device, a_run.device);
    assert_string_equal(file.run.cupti, "");
    assert_int_equal(file.run.seed, -1);
    assert_int_equal(file.run.sm_count, 132);
    assert_int_equal(file.count, 3);
    assert_int_equal(file.metric_count, 1);
    assert_true(file.metrics[0].value == 4420);

    const struct store_point_read *point = &file.points[0];
    assert_string_equal(point->key, "kernel=simt batch=auto");
    assert_string_equal(point->section, "grid");
    assert_true(point->layers == 61 && point->rest_us == 2500.5);
    assert_int_equal(point->status, STORE_OK);
    assert_null(point->reason);
    assert_true(point->rel_error == 3.5e-3 && isinf(point->lse_error));
    assert_string_equal(point->axis[AXIS_BATCH], "4");
    assert_null(point->axis[AXIS_NSPLIT]);
    assert_int_equal(point->launch_count, 2);
    const struct store_launch *launch = &point->launches[0];
    assert_int_equal(launch->count, 2);
    assert_string_equal(launch->role, "main");
    assert_int_equal(launch->grid[1], 64);
    assert_int_equal(launch->block[0], 128);
    assert_int_equal(launch->flops, 3000000000);
    assert_int_equal(point->launches[1].grid[2], 3);
    assert_int_equal(point->sample_count, 3);
    assert_true(point->samples[1].ns == 1200.25 && point->samples[1].steps == 20);
    assert_int_equal(point->metric_count, 3); /* NaN is not there */
    const char *source;
    assert_true(store_find_metric(point, -1, "gpu_us", &source) == 1.125);
    assert_string_equal(source, "cupti-activity");
    assert_true(store_find_metric(point, 1, "gpu_us", NULL) == 0.25);
    assert_true(isnan(store_find_metric(point, 1, "busy_sms", &source)));
    assert_null(source);

    assert_int_equal(file.points[1].status, STORE_RUNNING);
    assert_true(isnan(file.points[1].rel_error));
    assert_int_equal(file.points[2].status, STORE_PENDING);
    assert_string_equal(file.points[2].axis[AXIS_CONCURRENCY],
                        "3"); /* as resolved, while no result says more */
    assert_string_equal(file.points[2].axis[AXIS_BATCH], "1");
    assert_string_equal(file.points[2].axis[AXIS_TOPK], "512");
    store_file_free(&file);
}

static void test_contract_of_the_file(void **state)
{
    (void)state;
    create_closed();
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    const char *sql = "SELECT (SELECT journal_mode FROM pragma_journal_mode),"
                      " (SELECT application_id FROM pragma_application_id),"
                      " (SELECT user_version FROM pragma_user_version)";
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "delete");
    assert_int_equal(sqlite3_column_int(statement, 1), 0x736d7363);
    assert_int_equal(sqlite3_column_int(statement, 2), STORE_VERSION);
    sqlite3_finalize(statement);
    assert_int_equal(sqlite3_exec(db,
                                  "INSERT INTO point(key, ord, status, section, layers, rest_us)"
                                  " VALUES('kernel=x', 9, 'ok', '', 1, 0)",
                                  NULL, NULL, NULL),
                     SQLITE_CONSTRAINT); /* one key, one point */
    sqlite3_close(db);
    assert_int_equal(files_in(folder), 2); /* run.db and tmp: no journal, no -wal */
}

static void test_where_a_run_may_be_created(void **state)
{
    (void)state;
    struct store *store;
    put_bytes(path, "", 0);
    create_closed(); /* an empty file is a new run */

    struct text before = bytes_of(path);
    assert_int_equal(create(&store, path), FAIL_USAGE);
    assert_null(store);
    assert_said("--resume");
    assert_bytes(path, &before);
    text_free(&before);

    put_bytes(
        "notes",
        "not a database, but longer than the hundred bytes of a header: 1234567890 1234567890 "
        "1234567890 1234567890",
        106);
    before = bytes_of("notes");
    assert_int_equal(create(&store, "notes"), FAIL_DATA);
    assert_said("not a run file");
    assert_bytes("notes", &before);
    text_free(&before);

    sqlite3 *db;
    assert_int_equal(sqlite3_open("other.db", &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "PRAGMA journal_mode=WAL; CREATE TABLE t(a)", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    before = bytes_of("other.db");
    assert_int_equal(create(&store, "other.db"), FAIL_DATA);
    assert_int_equal(store_resume(&store, "other.db"), FAIL_DATA);
    assert_unreadable("other.db", "not a run file");
    assert_bytes("other.db", &before);
    text_free(&before);

    assert_int_equal(create(&store, "no/such/folder.db"), FAIL_DATA);
    assert_said("No such file");
    assert_int_equal(create(&store, "tmp"), FAIL_DATA);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(create(&store, "pipe"), FAIL_DATA);
    assert_unreadable("pipe", "not a regular file");
    assert_int_equal(create(&store, "/dev/full"), FAIL_DATA);
}

static void test_names_that_sqlite_would_read_its_own_way(void **state)
{
    (void)state;
    static const char *const names[] = {":memory:", "file:run.db?mode=memory"};
    for (size_t i = 0; i < 2; i++) {
        struct store *store;
        struct store_file file;
        assert_int_equal(create(&store, names[i]), FAIL_OK);
        store_close(store);
        assert_int_equal(access(names[i], F_OK), 0);
        assert_int_equal(store_read(&file, names[i]), FAIL_OK);
        store_file_free(&file);
    }
}

static void test_a_result_replaces_the_one_before(void **state)
{
    (void)state;
    struct store *store;
    struct store_file file;
    struct store_result result = some_result();
    assert_int_equal(create(&store, path), FAIL_OK);
    assert_int_equal(store_finish_point(store, 2, &result), FAIL_OK);

    /* a failure takes all of it back */
    const struct store_metric stray = {5, "gpu_us", 1, "event"};
    struct store_result bad = {.status = STORE_FAILED, .metrics = &stray, .metric_count = 1};
    assert_int_equal(store_finish_point(store, 2, &bad), FAIL_DATA);
    assert_int_equal(store_read(&file, path), FAIL_OK);
    assert_int_equal(file.points[2].status, STORE_OK);
    assert_int_equal(file.points[2].sample_count, 3);
    store_file_free(&file);

    struct store_result skipped = {
        .status = STORE_SKIPPED, .reason = "too wide", .rel_error = NAN, .lse_error = NAN};
    assert_int_equal(store_finish_point(store, 2, &skipped), FAIL_OK);
    assert_int_equal(store_read(&file, path), FAIL_OK);
    assert_int_equal(file.points[2].status, STORE_SKIPPED);
    assert_string_equal(file.points[2].reason, "too wide");
    assert_int_equal(
        file.points[2].launch_count + file.points[2].sample_count + file.points[2].metric_count, 0);
    store_file_free(&file);

    enum store_status status;
    assert_int_equal(store_get_status(store, 2, &status), FAIL_OK);
    assert_int_equal(status, STORE_SKIPPED);
    assert_int_equal(store_get_status(store, 3, &status), FAIL_DATA);
    assert_int_equal(store_begin_point(store, 3), FAIL_DATA);
    assert_int_equal(store_finish_point(store, 3, &result), FAIL_DATA);
    store_close(store);
}

static void test_settings_are_written_with_the_run(void **state)
{
    (void)state;
    const struct store_metric settings[] = {{-1, "setting.samples", 30, "command"},
                                            {-1, "setting.counters", 0, "command"}};
    struct store_run run = a_run;
    struct point points[] = {make_point("kernel=x", "x", 1)};
    const struct point_list list = {.points = points, .count = 1};
    struct store *store;
    struct store_file file;
    run.settings = settings;
    run.setting_count = 2;
    assert_int_equal(store_create(&store, path, &run, &list), FAIL_OK);
    store_close(store);
    assert_int_equal(store_read(&file, path), FAIL_OK);
    assert_int_equal(file.metric_count, 2);
    assert_string_equal(file.metrics[0].name, "setting.samples");
    assert_true(file.metrics[0].value == 30 && file.metrics[1].value == 0);
    assert_int_equal(file.run.setting_count, 0);
    store_file_free(&file);
}

static void test_points_are_added_behind_those_there(void **state)
{
    (void)state;
    struct store *store;
    struct store_file file;
    struct store_result result = some_result();
    struct point points[] = {make_point("kernel=simt batch=auto", "simt", 4),
                             make_point("kernel=mma batch=auto", "mma", 2),
                             make_point("kernel=x", "x", 1), make_point("kernel=y", "y", 8),
                             make_point("kernel=z", "z", 16)};
    struct point_list list = {.points = points, .count = 3};
    assert_int_equal(create(&store, path), FAIL_OK);
    assert_int_equal(store_finish_point(store, 2, &result), FAIL_OK);
    struct text before = bytes_of(path);
    assert_int_equal(store_extend(store, &list, "c", "w"), FAIL_OK); /* nothing new */
    assert_bytes(path, &before);
    text_free(&before);

    list.count = 5;
    assert_int_equal(store_extend(store, &list, "again", "[b]\n"), FAIL_OK);
    assert_int_equal(store_extend(store, &list, "again", "[b]\n"), FAIL_OK);
    assert_int_equal(store_finish_point(store, 4, &result), FAIL_OK);
    store_close(store);
    assert_int_equal(store_read(&file, path), FAIL_OK);
    assert_int_equal(file.count, 5);
    assert_int_equal(file.points[2].status, STORE_OK);
    assert_int_equal(file.points[3].status, STORE_PENDING);
    assert_string_equal(file.points[3].key, "kernel=y");
    assert_string_equal(file.points[3].axis[AXIS_BATCH], "8");
    assert_int_equal(file.points[4].sample_count, 3);
    assert_string_equal(file.run.command, "smscope sweep -a 'topk=1:3'\nagain");
    assert_string_equal(file.run.workload, "[a]\ntopk = 512\n\n[b]\n");
    store_file_free(&file);

    /* a list of another run */
    assert_int_equal(store_resume(&store, path), FAIL_OK);
    list.count = 4;
    assert_int_equal(store_extend(store, &list, "c", "w"), FAIL_DATA);
    assert_said("other points");
    list.count = 5;
    points[1].key = "kernel=other";
    assert_int_equal(store_extend(store, &list, "c", "w"), FAIL_DATA);
    store_close(store);
}

static void test_a_look_before_writing(void **state)
{
    (void)state;
    bool has_run = true;
    assert_int_equal(store_look(path, &has_run), FAIL_OK);
    assert_false(has_run);
    assert_int_equal(access(path, F_OK), -1);
    put_bytes("empty.db", "", 0);
    assert_int_equal(store_look("empty.db", &has_run), FAIL_OK);
    assert_false(has_run);
    put_bytes("notes", "not a database", 14);
    assert_int_equal(store_look("notes", &has_run), FAIL_DATA);

    struct store *store;
    create_closed();
    struct text before = bytes_of(path);
    assert_int_equal(store_look(path, &has_run), FAIL_OK);
    assert_true(has_run);
    assert_bytes(path, &before);
    text_free(&before);
    assert_int_equal(store_resume(&store, path), FAIL_OK); /* the look has let go of it */
    assert_int_equal(store_look(path, &has_run), FAIL_DATA);
    assert_said("is being written by another smscope");
    store_close(store);
}

/* What a point costs when the file is not where it was: exit code and message, and nothing is lost.
 */
static void check_taken_away(struct store *store, const char *says, const char *kept)
{
    struct store_result result = some_result();
    struct store_file file;
    assert_int_equal(store_finish_point(store, 1, &result), FAIL_DATA);
    assert_said(says);
    store_close(store);
    assert_int_equal(store_read(&file, kept), FAIL_OK);
    assert_int_equal(file.points[0].status, STORE_OK);
    assert_int_equal(file.points[0].sample_count, 3);
    assert_int_equal(file.points[1].status, STORE_RUNNING);
    store_file_free(&file);
}

static struct store *begin_a_point(void)
{
    struct store *store;
    struct store_result result = some_result();
    assert_int_equal(create(&store, path), FAIL_OK);
    assert_int_equal(store_finish_point(store, 0, &result), FAIL_OK);
    assert_int_equal(store_begin_point(store, 1), FAIL_OK);
    return store;
}

static void test_a_file_that_is_taken_away(void **state)
{
    (void)state;
    struct store *store = begin_a_point();
    assert_int_equal(unlink(path), 0);
    check_taken_away(store, "run.db was removed while it was written; what it held is in",
                     "run.db.saved");

    store = begin_a_point();
    put_bytes("other", "other", 5);
    assert_int_equal(rename("other", path), 0);
    check_taken_away(store, "run.db was replaced", "run.db.saved2");
    struct text other = bytes_of(path);
    assert_string_equal(other.bytes, "other");
    text_free(&other);
    assert_int_equal(unlink(path), 0);

    store = begin_a_point();
    assert_int_equal(rename(path, "tmp/moved.db"), 0);
    check_taken_away(store, "run.db was moved away", "tmp/moved.db");
    assert_int_equal(files_in(folder), 3); /* two saved ones and tmp */
}

/* Replaces the run by "other" when a transaction begins: too late for a look before it. */
static int replace_at_begin(unsigned reason, void *user, void *statement, void *text)
{
    (void)reason, (void)user, (void)statement;
    if (strncmp(text, "BEGIN", 5) == 0)
        (void)rename("other", path);
    return 0;
}

static int watch_begins(sqlite3 *db)
{
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, replace_at_begin, NULL);
}

static void test_a_file_that_is_taken_away_in_a_transaction(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_auto_extension((void (*)(void))watch_begins), SQLITE_OK);
    struct store *store = begin_a_point();
    sqlite3_reset_auto_extension();
    put_bytes("other", "other", 5);
    check_taken_away(store, "run.db was replaced while it was written; what it held is in",
                     "run.db.saved");
    assert_int_equal(files_in(folder), 3); /* other, saved and tmp */
}

/* Opens the run for writing in another process and keeps it until killed. */
static pid_t start_writer(void)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct store *store;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (store_resume(&store, path) != FAIL_OK || store_begin_point(store, 1) != FAIL_OK ||
            write(ends[1], "", 1) < 1)
            _exit(1);
        pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return child;
}

static void test_one_writer_and_any_readers(void **state)
{
    (void)state;
    struct store *store;
    struct store_file file;
    create_closed();
    pid_t child = start_writer();
    assert_int_equal(store_resume(&store, path), FAIL_DATA);
    assert_said("is being written by another smscope");
    assert_null(store);
    assert_int_equal(store_read(&file, path), FAIL_OK);
    assert_int_equal(file.points[1].status, STORE_RUNNING);
    store_file_free(&file);
    kill(child, SIGKILL);
    assert_int_equal(wait_for(child), -SIGKILL);

    assert_int_equal(store_resume(&store, path), FAIL_OK); /* its lock went with it */
    struct store *second;
    assert_int_equal(store_resume(&second, path), FAIL_DATA);
    assert_int_equal(store_begin_point(store, 0), FAIL_OK); /* and the refusal did no harm */
    store_close(store);
}

/* Dies inside a transaction that has already written pages into the file: leaves a hot journal. */
static void kill_a_writer(void)
{
    pid_t child = fork();
    if (child == 0) {
        sqlite3 *db;
        sqlite3_open(path, &db);
        sqlite3_exec(
            db,
            "PRAGMA cache_size = 1; BEGIN; UPDATE point SET status = 'ok', reason = hex(zeroblob(9000));"
            "UPDATE run SET device = hex(zeroblob(90000))",
            NULL, NULL, NULL);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(wait_for(child), -SIGKILL);
}

static void assert_as_created(const struct store_file *file)
{
    assert_int_equal(file->count, 3);
    assert_string_equal(file->run.device, a_run.device);
    assert_int_equal(file->points[0].status, STORE_PENDING);
    assert_null(file->points[0].reason);
}

static void test_a_killed_writer_loses_only_its_transaction(void **state)
{
    (void)state;
    struct store_file file;
    create_closed();
    struct text before = bytes_of(path);
    kill_a_writer();
    struct text killed = bytes_of(path), journal = bytes_of("run.db-journal");
    assert_true(killed.length > before.length); /* pages were written */

    assert_int_equal(store_read(&file, path), FAIL_OK);
    assert_as_created(&file);
    store_file_free(&file);
    assert_bytes(path, &killed); /* a reader changes nothing and leaves nothing behind */
    assert_bytes("run.db-journal", &journal);
    assert_int_equal(files_in("tmp"), 0);

    setenv("TMPDIR", "/nonexistent", 1);
    assert_unreadable(path, "/nonexistent");

    struct store *store;
    assert_int_equal(store_resume(&store, path), FAIL_OK);
    store_close(store);
    assert_int_equal(access("run.db-journal", F_OK), -1);
    assert_int_equal(store_read(&file, path), FAIL_OK);
    assert_as_created(&file);
    store_file_free(&file);
    text_free(&before);
    text_free(&killed);
    text_free(&journal);
}

static void test_killed_while_creating(void **state)
{
    (void)state;
    struct store *store;
    create_closed();
    /* killed within the commit: the pages are there, and a journal ("The Rollback Journal" in
     * SQLite's "Database File Format") that says: no page before, sectors of 512 bytes, pages of
     * 4096 */
    char journal[512] = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
    journal[22] = 2;
    journal[26] = 16;
    put_bytes("run.db-journal", journal, sizeof journal);
    struct text left = bytes_of(path);
    assert_unreadable(path, "no such table: run");
    assert_bytes(path, &left);
    text_free(&left);
    assert_int_equal(create(&store, path), FAIL_OK);
    store_close(store);
    struct store_file file;
    assert_int_equal(store_read(&file, path), FAIL_OK);
    assert_as_created(&file);
    store_file_free(&file);
}

/* What an ordinary user may do in a read-only folder; tests may run as root, whom permissions do
 * not stop. */
static int as_ordinary_user(void)
{
    struct store *store;
    struct store_file file;
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 77;
    if (store_read(&file, path) != FAIL_OK)
        return 1;
    if (file.points[0].status != STORE_PENDING || file.count != 3)
        return 2;
    store_file_free(&file);
    if (files_in("tmp") != 0)
        return 3;
    if (store_resume(&store, path) != FAIL_DATA ||
        !strstr(fail_text(), "folder: Permission denied"))
        return 4;
    if (store_resume(&store, "mine.db") != FAIL_DATA ||
        !strstr(fail_text(), "cannot write mine.db: Permission"))
        return 5;
    if (create(&store, "new.db") != FAIL_DATA ||
        !strstr(fail_text(), "cannot write new.db: Permission denied"))
        return 6;
    if (store_read(&file, "secret.db") != FAIL_DATA ||
        !strstr(fail_text(), "cannot read secret.db: Permission"))
        return 7;
    return 0;
}

static void test_read_only_folder(void **state)
{
    (void)state;
    struct store *store;
    assert_int_equal(create(&store, "mine.db"), FAIL_OK);
    store_close(store);
    assert_int_equal(create(&store, "secret.db"), FAIL_OK);
    store_close(store);
    create_closed();
    kill_a_writer();
    assert_int_equal(chmod("mine.db", 0444), 0);
    assert_int_equal(chmod("secret.db", 0), 0);
    assert_int_equal(chmod("run.db", 0666), 0);
    assert_int_equal(chmod("run.db-journal", 0444), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(as_ordinary_user());
    int code = wait_for(child);
    if (code == 77)
        print_message("cannot become an ordinary user here; nothing checked\n");
    else
        assert_int_equal(code, 0);
}

/* Rows that SQLite stepped over in search of others, in all statements of all files. */
static int scanned;

static int count_scans(unsigned reason, void *user, void *statement, void *took)
{
    (void)reason, (void)user, (void)took;
    scanned += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1);
    return 0;
}

static int watch_file(sqlite3 *db)
{
    return sqlite3_trace_v2(db, SQLITE_TRACE_PROFILE, count_scans, NULL);
}

/* Whatever the run holds: a point costs the same at its end as at its start. */
static void test_a_point_is_written_without_a_scan(void **state)
{
    (void)state;
    struct store *store;
    struct store_result result = some_result();
    assert_int_equal(sqlite3_auto_extension((void (*)(void))watch_file), SQLITE_OK);
    assert_int_equal(create(&store, "run.db"), FAIL_OK);
    assert_int_equal(store_finish_point(store, 0, &result), FAIL_OK);
    assert_int_equal(store_finish_point(store, 1, &result), FAIL_OK);
    scanned = 0;
    assert_int_equal(store_begin_point(store, 2), FAIL_OK);
    assert_int_equal(store_finish_point(store, 2, &result), FAIL_OK);
    assert_int_equal(scanned, 0);
    store_close(store);
    sqlite3_reset_auto_extension();
}

static int with_a_full_disk(void)
{
    struct store *store;
    struct rlimit limit = {.rlim_cur = 128 * 1024, .rlim_max = 128 * 1024};
    static struct store_sample many[20000];
    struct store_result small = some_result();
    struct store_result large = some_result();
    large.samples = many;
    large.sample_count = sizeof many / sizeof *many;
    signal(SIGXFSZ, SIG_IGN);
    if (store_resume(&store, path) != FAIL_OK || setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    if (store_finish_point(store, 0, &small) != FAIL_OK)
        return 2;
    if (store_finish_point(store, 1, &large) != FAIL_DATA || !strstr(fail_text(), "cannot write "))
        return 3;
    if (store_finish_point(store, 2, &small) != FAIL_OK) /* room again after the rollback */
        return 4;
    store_close(store);
    limit.rlim_cur = 1024;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || create(&store, "new.db") != FAIL_DATA)
        return 5;
    return access("new.db", F_OK) == 0 ? 6 : 0;
}

static void test_full_disk(void **state)
{
    (void)state;
    create_closed();
    pid_t child = fork();
    if (child == 0)
        _exit(with_a_full_disk());
    assert_int_equal(wait_for(child), 0);
    struct store_file file;
    assert_int_equal(store_read(&file, path), FAIL_OK);
    assert_int_equal(file.points[0].status, STORE_OK);
    assert_int_equal(file.points[1].status, STORE_PENDING);
    assert_int_equal(file.points[1].sample_count, 0);
    assert_int_equal(file.points[2].status, STORE_OK);
    store_file_free(&file);
}

static void test_not_to_be_read(void **state)
{
    (void)state;
    assert_unreadable("missing.db", "No such file");
    put_bytes("empty.db", "", 0);
    assert_unreadable("empty.db", "is empty");
    put_bytes("short.db", "SQLite format 3", 16);
    assert_unreadable("short.db", "not a run file");
    assert_unreadable("tmp", "not a regular file");
    struct store *store;
    assert_int_equal(store_resume(&store, "missing.db"), FAIL_DATA);
    assert_int_equal(access("missing.db", F_OK), -1);
    assert_int_equal(store_resume(&store, "empty.db"), FAIL_DATA);

    create_closed();
    struct text whole = bytes_of(path);
    static const size_t cuts[] = {99, 100, 512, 4096, 5000};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct text cut = TEXT_INIT;
        text_add_bytes(&cut, whole.bytes, cuts[i]);
        put_bytes("cut.db", cut.bytes, cut.length);
        assert_unreadable("cut.db", "");
        assert_int_equal(store_resume(&store, "cut.db"), FAIL_DATA);
        assert_bytes("cut.db", &cut);
        text_free(&cut);
    }
    whole.bytes[63] = STORE_VERSION + 1; /* last byte of user_version */
    put_bytes("newer.db", whole.bytes, whole.length);
    assert_unreadable("newer.db", "newer smscope");
    assert_int_equal(store_resume(&store, "newer.db"), FAIL_DATA);
    assert_int_equal(create(&store, "newer.db"), FAIL_DATA);
    assert_bytes("newer.db", &whole);
    text_free(&whole);
}

/* Everything that a reader gets, as text. */
static void describe(const struct store_file *file, struct text *out)
{
    const struct store_run *run = &file->run;
    text_clear(out);
    text_addf(out, "%lld %s %s %s %lld %s %s %s %s %s %lld %s %s %s %s\n", (long long)run->id,
              run->started_at, run->command, run->workload, (long long)run->seed, run->version,
              run->kernels_hash, run->device, run->uuid, run->cc, (long long)run->sm_count,
              run->driver, run->cuda, run->cupti, run->spec);
    for (size_t i = 0; i < file->metric_count; i++)
        text_addf(out, "%s %a %s\n", file->metrics[i].name, file->metrics[i].value,
                  file->metrics[i].source);
    for (size_t p = 0; p < file->count; p++) {
        const struct store_point_read *point = &file->points[p];
        text_addf(out, "%lld %s %s %a %a %s %s %a %a", (long long)point->ord, point->key,
                  point->section, point->layers, point->rest_us, store_status_name(point->status),
                  point->reason ? point->reason : "-", point->rel_error, point->lse_error);
        for (int id = 0; id < AXIS_COUNT && point->status == STORE_OK; id++)
            text_addf(out, " %s", point->axis[id] ? point->axis[id] : "-");
        for (size_t i = 0; i < point->launch_count; i++) {
            const struct store_launch *l = &point->launches[i];
            text_addf(out, "\n %lld %lld %s %s %ux%ux%u %ux%ux%u %lld %lld %lld %lld %llu %llu",
                      (long long)l->ord, (long long)l->count, l->role, l->name, l->grid[0],
                      l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
                      (long long)l->registers, (long long)l->smem_static_bytes,
                      (long long)l->smem_dynamic_bytes, (long long)l->resident_blocks,
                      (unsigned long long)l->bytes, (unsigned long long)l->flops);
        }
        for (size_t i = 0; i < point->sample_count; i++)
            text_addf(out, "\n %a %lld", point->samples[i].ns, (long long)point->samples[i].steps);
        for (size_t i = 0; i < point->metric_count; i++)
            text_addf(out, "\n %lld %s %a %s", (long long)point->metrics[i].launch_ord,
                      point->metrics[i].name, point->metrics[i].value, point->metrics[i].source);
        text_add(out, "\n");
    }
}

/* Whatever byte is wrong: the file is refused with one line, or what it says is not affected; it is
 * never changed, and never a crash. */
static void test_flipped_bytes(void **state)
{
    (void)state;
    struct store *store;
    struct store_file file;
    struct store_result result = some_result();
    assert_int_equal(create(&store, path), FAIL_OK);
    assert_int_equal(store_finish_point(store, 0, &result), FAIL_OK);
    assert_int_equal(store_put_run_metric(store, "read_roof_gb_per_s", 4400, "event"), FAIL_OK);
    store_close(store);
    struct text whole = bytes_of(path), before = TEXT_INIT, after = TEXT_INIT;
    size_t refused = 0;
    assert_int_equal(store_read(&file, path), FAIL_OK);
    describe(&file, &before);
    store_file_free(&file);
    for (size_t i = 0; i < whole.length; i += i < 100 ? 1 : 13) {
        struct text flipped = TEXT_INIT;
        text_add_bytes(&flipped, whole.bytes, whole.length);
        flipped.bytes[i] = (char)(flipped.bytes[i] ^ 1 << i % 8);
        put_bytes("flipped.db", flipped.bytes, flipped.length);
        int rc = store_read(&file, "flipped.db");
        if (rc != FAIL_OK) {
            assert_int_equal(rc, FAIL_DATA);
            assert_said("flipped.db");
            refused++;
        } else {
            describe(&file, &after);
            assert_string_equal(after.bytes, before.bytes);
        }
        store_file_free(&file);
        assert_bytes("flipped.db", &flipped);
        text_free(&flipped);
    }
    assert_true(refused > 40);
    text_free(&whole);
    text_free(&before);
    text_free(&after);
}

static void execute(const char *name, const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(name, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Each would be a sound file with another number in it. */
static void test_seals(void **state)
{
    (void)state;
    static const char *const deeds[][2] = {
        {"UPDATE sample SET ns = ns + 0.25 WHERE ord = 1", "point kernel=simt batch=auto is not"},
        {"UPDATE metric SET value = 1.25 WHERE launch IS NULL AND point = 1", "point kernel=simt"},
        {"UPDATE metric SET name = 'gpu_ut' WHERE launch = 1", "point kernel=simt"},
        {"UPDATE launch SET regs = 97 WHERE ord = 0", "point kernel=simt"},
        {"UPDATE point SET batch = 5 WHERE ord = 0", "point kernel=simt"},
        {"UPDATE point SET rel_error = 0 WHERE ord = 0", "point kernel=simt"},
        {"UPDATE point SET status = 'invalid' WHERE ord = 0", "point kernel=simt"},
        {"UPDATE point SET layers = 1 WHERE ord = 2", "the run is not"}, /* one that is pending */
        {"UPDATE run SET seed = 2", "the run is not"},
        {"UPDATE metric SET value = 4401 WHERE name = 'read_roof_gb_per_s'", "the run is not"},
        {"DELETE FROM sample WHERE ord = 2", "point kernel=simt"},
        {"DELETE FROM metric WHERE name = 'seal' AND point = 1", "point kernel=simt"},
    };
    struct store *store;
    struct store_file file;
    struct store_result result = some_result();
    assert_int_equal(create(&store, path), FAIL_OK);
    assert_int_equal(store_finish_point(store, 0, &result), FAIL_OK);
    assert_int_equal(store_put_run_metric(store, "read_roof_gb_per_s", 4400, "event"), FAIL_OK);
    store_close(store);
    struct text whole = bytes_of(path);
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        put_bytes("deed.db", whole.bytes, whole.length);
        execute("deed.db", deeds[i][0]);
        assert_unreadable("deed.db", deeds[i][1]);
    }
    execute(path, "DELETE FROM metric WHERE name = 'seal'"); /* a file of an older smscope */
    assert_int_equal(store_read(&file, path), FAIL_OK);
    assert_int_equal(file.metric_count, 1);
    store_file_free(&file);
    text_free(&whole);
}

/* Values that SQLite accepts and smscope never writes. */
static void test_foreign_hands(void **state)
{
    (void)state;
    static const char *const deeds[][2] = {
        {"UPDATE point SET status = 'splendid' WHERE ord = 1", "unknown status"},
        {"DELETE FROM point WHERE ord = 1", "point is missing"},
        {"DELETE FROM point WHERE ord = 0", "belongs to nothing"},
        {"UPDATE launch SET grid = 'x'", "no grid"},
        {"DELETE FROM run", "no run"},
        {"INSERT INTO run SELECT 8, started_at, command, workload, seed, version, kernels_hash, device, uuid, cc,"
         " sm_count, driver, cuda, cupti, spec FROM run",
         "more than one run"},
        {"DROP TABLE metric", "no such table"},
    };
    struct store *store;
    struct store_result result = some_result();
    assert_int_equal(create(&store, path), FAIL_OK);
    assert_int_equal(store_finish_point(store, 0, &result), FAIL_OK);
    store_close(store);
    struct text whole = bytes_of(path);
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        sqlite3 *db;
        put_bytes("deed.db", whole.bytes, whole.length);
        assert_int_equal(sqlite3_open("deed.db", &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, deeds[i][0], NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
        assert_unreadable("deed.db", deeds[i][1]);
    }
    text_free(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_contract_of_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_where_a_run_may_be_created, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_that_sqlite_would_read_its_own_way, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_result_replaces_the_one_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_point_is_written_without_a_scan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_settings_are_written_with_the_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_points_are_added_behind_those_there, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_look_before_writing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_that_is_taken_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_that_is_taken_away_in_a_transaction, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_one_writer_and_any_readers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_killed_writer_loses_only_its_transaction, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_killed_while_creating, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_read_only_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_to_be_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_flipped_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_seals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign_hands, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
