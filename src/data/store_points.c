/*
 * The points of a run: asked for when it is created, and added when it is gone on with.
 */
#include "data/store_db.h"

#include <string.h>

#include "base/fail.h"
#include "base/text.h"

static int bind_axis(sqlite3_stmt *statement, int place, const struct axis_value *value)
{
    if (axis_is_word(value, NULL))
        return sqlite3_bind_text(statement, place, value->word, -1, SQLITE_TRANSIENT);
    return sqlite3_bind_int64(statement, place, value->number);
}

/* The value to show from the start: as asked, but the numbers that
 * concurrency and batch came to. */
static struct axis_value shown_value(const struct point *point, enum axis_id id)
{
    struct axis_value value = point->asked[id];
    if (id == AXIS_CONCURRENCY)
        value = (struct axis_value){.number = point->concurrency};
    if (id == AXIS_BATCH)
        value = (struct axis_value){.number = point->batch};
    return value;
}

/* Place of the first axis among the values of store_insert_points(). */
enum { POINT_FIRST_AXIS = 7 };

static int insert_point(struct store *store, sqlite3_stmt *statement, const struct point *point,
                        size_t ord)
{
    sqlite3_bind_int64(statement, 1, (int64_t)ord + 1);
    sqlite3_bind_text(statement, 2, point->key, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(statement, 3, (int64_t)ord);
    sqlite3_bind_text(statement, 4, point->section, -1, SQLITE_TRANSIENT);
    sqlite3_bind_double(statement, 5, point->layers);
    sqlite3_bind_double(statement, 6, point->rest_us);
    for (int id = 0; id < AXIS_COUNT; id++) {
        struct axis_value value = shown_value(point, (enum axis_id)id);
        if (point->applies[id])
            bind_axis(statement, POINT_FIRST_AXIS + id, &value);
    }
    int rc = FAIL_OK;
    if (sqlite3_step(statement) != SQLITE_DONE)
        rc = store_db_fail(store->db, "cannot write", store->path);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return rc;
}

int store_insert_points(struct store *store, const struct point_list *points, size_t first)
{
    struct text sql = TEXT_INIT;
    text_add(&sql, "INSERT INTO point VALUES(?, ?, ?, 'pending', NULL, NULL, NULL, ?, ?, ?");
    for (int id = 0; id < AXIS_COUNT; id++)
        text_add(&sql, ", ?");
    text_add(&sql, ")");
    sqlite3_stmt *statement = NULL;
    int rc = FAIL_OK;
    if (sqlite3_prepare_v2(store->db, sql.bytes, -1, &statement, NULL) != SQLITE_OK)
        rc = store_db_fail(store->db, "cannot write", store->path);
    for (size_t i = first; i < points->count && rc == FAIL_OK; i++)
        rc = insert_point(store, statement, &points->points[i], i);
    sqlite3_finalize(statement);
    text_free(&sql);
    return rc;
}

/* How many points the file has; FAIL_DATA unless they are the list's first ones. */
static int compare_points(struct store *store, const struct point_list *points, size_t *count)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(store->db, "SELECT ord, key FROM point ORDER BY ord", -1,
                                &statement, NULL);
    bool same = true;
    for (*count = 0; rc == SQLITE_OK || rc == SQLITE_ROW; ++*count) {
        rc = sqlite3_step(statement);
        if (rc != SQLITE_ROW)
            break;
        const char *key = (const char *)sqlite3_column_text(statement, 1);
        same = same && *count < points->count &&
               sqlite3_column_int64(statement, 0) == (int64_t)*count && key &&
               strcmp(key, points->points[*count].key) == 0;
    }
    int result = FAIL_OK;
    if (rc != SQLITE_DONE)
        result = store_db_fail(store->db, "cannot read", store->path);
    else if (!same)
        result = fail_set(FAIL_DATA, "%s holds other points than a moment ago", store->path);
    sqlite3_finalize(statement);
    return result;
}

static int add_points(struct store *store, const struct point_list *points, size_t first,
                      const char *command, const char *workload)
{
    int rc = store_insert_points(store, points, first);
    if (rc == FAIL_OK)
        rc = store_execute(store,
                           "UPDATE run SET command = command || char(10) || ?1,"
                           " workload = CASE WHEN instr(workload, ?2) > 0 THEN workload"
                           " ELSE workload || char(10) || ?2 END",
                           "tt", command, workload);
    if (rc == FAIL_OK)
        rc = store_seal_run(store);
    return rc;
}

int store_extend(struct store *store, const struct point_list *points, const char *command,
                 const char *workload)
{
    size_t count = 0;
    int rc = compare_points(store, points, &count);
    if (rc == FAIL_OK && count < points->count) {
        rc = store_begin(store);
        if (rc == FAIL_OK)
            rc = store_end(store, add_points(store, points, count, command, workload));
    }
    return rc;
}
