/*
 * The rows of a run file: the tables of store.c, one function each.
 */
#include "data/store_db.h"

#include "base/fail.h"
#include "base/mem.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>

/* ---- columns of a statement ---- */

static char *take_text(sqlite3_stmt *statement, int column)
{
    const char *bytes = (const char *)sqlite3_column_text(statement, column);
    return bytes ? mem_strdup(bytes) : NULL;
}

static char *take_word(sqlite3_stmt *statement, int column)
{
    char *bytes = take_text(statement, column);
    return bytes ? bytes : mem_strdup("");
}

/* NaN for null and for anything that is not a number. */
static double take_real(sqlite3_stmt *statement, int column)
{
    int type = sqlite3_column_type(statement, column);
    if (type != SQLITE_FLOAT && type != SQLITE_INTEGER)
        return (double)NAN;
    return sqlite3_column_double(statement, column);
}

static bool take_dim(sqlite3_stmt *statement, int column, uint32_t dim[3])
{
    const char *bytes = (const char *)sqlite3_column_text(statement, column);
    return bytes && sscanf(bytes, "%ux%ux%u", &dim[0], &dim[1], &dim[2]) == 3;
}

/* ---- rows; each returns NULL or what is wrong ---- */

static const char *read_run(sqlite3_stmt *statement, struct store_file *file)
{
    struct store_run *run = &file->run;
    if (run->started_at)
        return "it holds more than one run";
    run->id = sqlite3_column_int64(statement, 0);
    run->started_at = take_word(statement, 1);
    run->command = take_word(statement, 2);
    run->workload = take_word(statement, 3);
    run->seed = sqlite3_column_int64(statement, 4);
    run->version = take_word(statement, 5);
    run->kernels_hash = take_word(statement, 6);
    run->device = take_word(statement, 7);
    run->uuid = take_word(statement, 8);
    run->cc = take_word(statement, 9);
    run->sm_count = sqlite3_column_int64(statement, 10);
    run->driver = take_word(statement, 11);
    run->cuda = take_word(statement, 12);
    run->cupti = take_word(statement, 13);
    run->spec = take_word(statement, 14);
    return NULL;
}

enum { FIRST_AXIS = 9 }; /* place of the first axis among the columns of read_points() */

static const char *read_point(sqlite3_stmt *statement, struct store_file *file)
{
    size_t ord = file->count;
    file->points = mem_resize(file->points, ord + 1, sizeof *file->points);
    struct store_point_read *point = &file->points[file->count++];
    *point = (struct store_point_read){.ord = sqlite3_column_int64(statement, 0)};
    point->key = take_word(statement, 1);
    point->reason = take_text(statement, 3);
    point->rel_error = take_real(statement, 4);
    point->lse_error = take_real(statement, 5);
    point->section = take_word(statement, 6);
    point->layers = take_real(statement, 7);
    point->rest_us = take_real(statement, 8);
    for (int id = 0; id < AXIS_COUNT; id++)
        point->axis[id] = take_text(statement, FIRST_AXIS + id);
    if (!store_status_by_name((const char *)sqlite3_column_text(statement, 2), &point->status))
        return "a point has an unknown status";
    return point->ord == (int64_t)ord ? NULL : "a point is missing";
}

/* The point that column 0 names by its ord. */
static struct store_point_read *owner(sqlite3_stmt *statement, struct store_file *file)
{
    int64_t ord = sqlite3_column_int64(statement, 0);
    return ord >= 0 && (uint64_t)ord < file->count ? &file->points[ord] : NULL;
}

static const char *read_launch(sqlite3_stmt *statement, struct store_file *file)
{
    struct store_point_read *point = owner(statement, file);
    if (!point)
        return "a launch belongs to no point";
    point->launches = mem_resize(point->launches, point->launch_count + 1, sizeof *point->launches);
    struct store_launch *launch = &point->launches[point->launch_count++];
    *launch = (struct store_launch){.ord = sqlite3_column_int64(statement, 1)};
    launch->count = sqlite3_column_int64(statement, 2);
    launch->role = take_word(statement, 3);
    launch->name = take_word(statement, 4);
    launch->registers = sqlite3_column_int64(statement, 7);
    launch->smem_static_bytes = sqlite3_column_int64(statement, 8);
    launch->smem_dynamic_bytes = sqlite3_column_int64(statement, 9);
    launch->resident_blocks = sqlite3_column_int64(statement, 10);
    launch->bytes = (uint64_t)sqlite3_column_int64(statement, 11);
    launch->flops = (uint64_t)sqlite3_column_int64(statement, 12);
    if (!take_dim(statement, 5, launch->grid) || !take_dim(statement, 6, launch->block))
        return "a launch has no grid or block";
    return NULL;
}

static const char *read_sample(sqlite3_stmt *statement, struct store_file *file)
{
    struct store_point_read *point = owner(statement, file);
    if (!point)
        return "a sample belongs to no point";
    point->samples = mem_resize(point->samples, point->sample_count + 1, sizeof *point->samples);
    point->samples[point->sample_count++] = (struct store_sample){
        .ns = take_real(statement, 1), .steps = sqlite3_column_int64(statement, 2)};
    return NULL;
}

/* Columns: point's ord (null: of the run), launch's ord (null: of the point),
 * name, value, source. */
static const char *read_metric(sqlite3_stmt *statement, struct store_file *file)
{
    struct store_metric **metrics = &file->metrics;
    size_t *count = &file->metric_count;
    if (sqlite3_column_type(statement, 0) != SQLITE_NULL) {
        struct store_point_read *point = owner(statement, file);
        if (!point)
            return "a metric belongs to no point";
        metrics = &point->metrics;
        count = &point->metric_count;
    }
    bool of_point = sqlite3_column_type(statement, 1) == SQLITE_NULL;
    *metrics = mem_resize(*metrics, *count + 1, sizeof **metrics);
    (*metrics)[(*count)++] =
        (struct store_metric){.launch_ord = of_point ? -1 : sqlite3_column_int64(statement, 1),
                              .name = take_word(statement, 2),
                              .value = take_real(statement, 3),
                              .source = take_word(statement, 4)};
    return NULL;
}

/* ---- the whole file ---- */

static int read_rows(sqlite3 *db, const char *path, const char *sql,
                     const char *(*read_row)(sqlite3_stmt *, struct store_file *),
                     struct store_file *file)
{
    sqlite3_stmt *statement = NULL;
    const char *wrong = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK)
        while (!wrong && (rc = sqlite3_step(statement)) == SQLITE_ROW)
            wrong = read_row(statement, file);
    int result = FAIL_OK;
    if (wrong)
        result = fail_set(FAIL_DATA, "%s is damaged: %s", path, wrong);
    else if (rc != SQLITE_DONE)
        result = store_db_fail(db, "cannot read", path);
    sqlite3_finalize(statement);
    return result;
}

static int read_points(sqlite3 *db, const char *path, struct store_file *file)
{
    struct text sql = TEXT_INIT;
    text_add(&sql,
             "SELECT ord, key, status, reason, rel_error, lse_error, section, layers, rest_us");
    for (int id = 0; id < AXIS_COUNT; id++)
        text_addf(&sql, ", point.\"%s\"", axis_info((enum axis_id)id)->name);
    text_add(&sql, " FROM point ORDER BY ord");
    int rc = read_rows(db, path, sql.bytes, read_point, file);
    text_free(&sql);
    return rc;
}

int store_read_rows(sqlite3 *db, const char *path, struct store_file *file)
{
    if (sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
        return store_db_fail(db, "cannot read", path);
    int rc = store_db_check(db, path);
    if (rc == FAIL_OK)
        rc = read_rows(
            db, path,
            "SELECT id, started_at, command, workload, seed, version, kernels_hash, device, uuid, cc,"
            " sm_count, driver, cuda, cupti, spec FROM run",
            read_run, file);
    if (rc == FAIL_OK && !file->run.started_at)
        rc = fail_set(FAIL_DATA, "%s is damaged: it holds no run", path);
    if (rc == FAIL_OK)
        rc = read_points(db, path, file);
    if (rc == FAIL_OK)
        rc = read_rows(
            db, path,
            "SELECT p.ord, l.ord, l.count, l.role, l.name, l.grid, l.block, l.regs, l.smem_static,"
            " l.smem_dynamic, l.resident_blocks, l.bytes, l.flops"
            " FROM launch l JOIN point p ON p.id = l.point ORDER BY p.ord, l.ord",
            read_launch, file);
    if (rc == FAIL_OK)
        rc = read_rows(db, path,
                       "SELECT p.ord, s.ns, s.steps FROM sample s JOIN point p ON p.id = s.point"
                       " ORDER BY p.ord, s.ord",
                       read_sample, file);
    if (rc == FAIL_OK)
        rc = read_rows(db, path,
                       "SELECT p.ord, l.ord, m.name, m.value, m.source FROM metric m"
                       " LEFT JOIN point p ON p.id = m.point LEFT JOIN launch l ON l.id = m.launch"
                       " WHERE m.name <> 'seal' ORDER BY p.ord, l.ord, m.rowid",
                       read_metric, file);
    if (rc == FAIL_OK)
        rc = store_check_seals(db, path);
    return rc;
}
