#include "data/store_db.h"

#include "base/fail.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int store_get_status(struct store *store, size_t ord, enum store_status *status)
{
    sqlite3_stmt *statement = NULL;
    int rc = FAIL_OK;
    if (sqlite3_prepare_v2(store->db, "SELECT status FROM point WHERE ord = ?", -1, &statement,
                           NULL) != SQLITE_OK ||
        sqlite3_bind_int64(statement, 1, (int64_t)ord) != SQLITE_OK)
        rc = store_db_fail(store->db, "cannot read", store->path);
    else if (sqlite3_step(statement) != SQLITE_ROW)
        rc = fail_set(FAIL_DATA, "%s has no point %zu", store->path, ord);
    else if (!store_status_by_name((const char *)sqlite3_column_text(statement, 0), status))
        rc =
            fail_set(FAIL_DATA, "%s is damaged: point %zu has an unknown status", store->path, ord);
    sqlite3_finalize(statement);
    return rc;
}

/* The last statement was to change one point. */
static int check_changed(struct store *store, size_t ord)
{
    if (sqlite3_changes(store->db) != 1)
        return fail_set(FAIL_DATA, "%s has no point %zu", store->path, ord);
    return FAIL_OK;
}

int store_begin_point(struct store *store, size_t ord)
{
    int rc = store_check_place(store);
    if (rc == FAIL_OK)
        rc = store_explain(
            store,
            store_execute(store, "UPDATE point SET status = 'running', reason = NULL WHERE ord = ?",
                          "i", (int64_t)ord));
    return rc == FAIL_OK ? check_changed(store, ord) : rc;
}

static int delete_result(struct store *store, int64_t id)
{
    static const char *const deletes[] = {
        "DELETE FROM metric WHERE ifnull(point, 0) = ?", /* as the index has it */
        "DELETE FROM sample WHERE point = ?",
        "DELETE FROM launch WHERE point = ?",
    };
    int rc = FAIL_OK;
    for (size_t i = 0; i < sizeof deletes / sizeof *deletes && rc == FAIL_OK; i++)
        rc = store_execute(store, deletes[i], "i", id);
    return rc;
}

/* An axis that does not apply is NULL since store_create() and stays so. */
static int update_axes(struct store *store, int64_t id, const struct axis_value *used)
{
    int rc = FAIL_OK;
    for (int axis = 0; axis < AXIS_COUNT && rc == FAIL_OK; axis++) {
        const char *name = axis_info((enum axis_id)axis)->name;
        char sql[160];
        snprintf(sql, sizeof sql, "UPDATE point SET \"%s\" = ? WHERE id = ? AND \"%s\" IS NOT NULL",
                 name, name);
        if (axis_is_word(&used[axis], NULL))
            rc = store_execute(store, sql, "ti", used[axis].word, id);
        else
            rc = store_execute(store, sql, "ii", used[axis].number, id);
    }
    return rc;
}

static int insert_launches(struct store *store, int64_t point, const struct store_result *result,
                           int64_t *ids)
{
    int rc = FAIL_OK;
    for (size_t i = 0; i < result->launch_count && rc == FAIL_OK; i++) {
        const struct store_launch *launch = &result->launches[i];
        char grid[40], block[40];
        snprintf(grid, sizeof grid, "%ux%ux%u", launch->grid[0], launch->grid[1], launch->grid[2]);
        snprintf(block, sizeof block, "%ux%ux%u", launch->block[0], launch->block[1],
                 launch->block[2]);
        rc = store_execute(
            store, "INSERT INTO launch VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            "iiittttiiiiii", point, launch->ord, launch->count, launch->role, launch->name, grid,
            block, launch->registers, launch->smem_static_bytes, launch->smem_dynamic_bytes,
            launch->resident_blocks, (int64_t)launch->bytes, (int64_t)launch->flops);
        ids[i] = sqlite3_last_insert_rowid(store->db);
    }
    return rc;
}

static int insert_samples(struct store *store, int64_t point, const struct store_result *result)
{
    int rc = FAIL_OK;
    for (size_t i = 0; i < result->sample_count && rc == FAIL_OK; i++)
        rc = store_execute(store, "INSERT INTO sample VALUES(?, ?, ?, ?)", "iiri", point,
                           (int64_t)i, result->samples[i].ns, result->samples[i].steps);
    return rc;
}

static const int64_t *find_launch(const struct store_result *result, const int64_t *ids,
                                  int64_t ord)
{
    for (size_t i = 0; i < result->launch_count; i++)
        if (result->launches[i].ord == ord)
            return &ids[i];
    return NULL;
}

static int insert_metrics(struct store *store, int64_t point, const struct store_result *result,
                          const int64_t *ids)
{
    int rc = FAIL_OK;
    for (size_t i = 0; i < result->metric_count && rc == FAIL_OK; i++) {
        const struct store_metric *metric = &result->metrics[i];
        const int64_t *launch = find_launch(result, ids, metric->launch_ord);
        if (!isfinite(metric->value))
            continue;
        if (metric->launch_ord < 0)
            rc = store_execute(store, "INSERT INTO metric VALUES(?, NULL, ?, ?, ?)", "itrt", point,
                               metric->name, metric->value, metric->source);
        else if (launch)
            rc = store_execute(store, "INSERT INTO metric VALUES(?, ?, ?, ?, ?)", "iitrt", point,
                               *launch, metric->name, metric->value, metric->source);
        else
            rc = fail_set(FAIL_DATA,
                          "%s: metric %s is of launch %lld, which the point does not have",
                          store->path, metric->name, (long long)metric->launch_ord);
    }
    return rc;
}

static int write_result(struct store *store, size_t ord, const struct store_result *result,
                        int64_t *launch_ids)
{
    int64_t id = (int64_t)ord + 1; /* as in insert_point() */
    int rc = store_execute(
        store, "UPDATE point SET status = ?, reason = ?, rel_error = ?, lse_error = ? WHERE id = ?",
        "ttrri", store_status_name(result->status), result->reason, result->rel_error,
        result->lse_error, id);
    if (rc == FAIL_OK)
        rc = check_changed(store, ord);
    if (rc == FAIL_OK && result->used)
        rc = update_axes(store, id, result->used);
    if (rc == FAIL_OK)
        rc = delete_result(store, id);
    if (rc == FAIL_OK)
        rc = insert_launches(store, id, result, launch_ids);
    if (rc == FAIL_OK)
        rc = insert_samples(store, id, result);
    if (rc == FAIL_OK)
        rc = insert_metrics(store, id, result, launch_ids);
    if (rc == FAIL_OK)
        rc = store_seal_point(store, id);
    return rc;
}

int store_finish_point(struct store *store, size_t ord, const struct store_result *result)
{
    int rc = store_check_place(store);
    if (rc == FAIL_OK)
        rc = store_begin(store);
    if (rc != FAIL_OK)
        return rc;
    int64_t *launch_ids = mem_new(result->launch_count, sizeof *launch_ids);
    rc = store_end(store, write_result(store, ord, result, launch_ids));
    free(launch_ids);
    return rc;
}

int store_insert_run_metric(struct store *store, const struct store_metric *metric)
{
    return store_execute(store, "INSERT OR REPLACE INTO metric VALUES(NULL, NULL, ?, ?, ?)", "trt",
                         metric->name, metric->value, metric->source);
}

int store_put_run_metric(struct store *store, const char *name, double value, const char *source)
{
    const struct store_metric metric = {
        .launch_ord = -1, .name = name, .value = value, .source = source};
    int rc = store_check_place(store);
    if (rc == FAIL_OK)
        rc = store_begin(store);
    if (rc != FAIL_OK)
        return rc;
    rc = store_insert_run_metric(store, &metric);
    return store_end(store, rc == FAIL_OK ? store_seal_run(store) : rc);
}

int store_get_run_metric(struct store *store, const char *name, double *value)
{
    sqlite3_stmt *statement = NULL;
    int stepped = SQLITE_ERROR;
    *value = (double)NAN;
    if (sqlite3_prepare_v2(store->db, "SELECT value FROM metric WHERE point IS NULL AND name = ?",
                           -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC) == SQLITE_OK)
        stepped = sqlite3_step(statement);
    if (stepped == SQLITE_ROW)
        *value = sqlite3_column_double(statement, 0);
    int rc = stepped == SQLITE_ROW || stepped == SQLITE_DONE
                 ? FAIL_OK
                 : store_db_fail(store->db, "cannot read", store->path);
    sqlite3_finalize(statement);
    return rc;
}
