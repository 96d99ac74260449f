/*
 * SQLite tells a page that is no page, not a digit that is another digit.  So what is finished is
 * sealed: a hash over all of its values stands beside them as a metric "seal", of the run with its
 * run-wide metrics and the points asked for, and of each finished point with all that belongs to
 * it.  It tells damage, not malice.  A file of before has no seals and is taken as it is.
 */
#include "data/store_db.h"

#include "base/fail.h"

#include <math.h>

/* FNV-1a, to the 52 bits that a REAL holds exactly. */
static const uint64_t hash_start = 0xcbf29ce484222325, hash_factor = 0x100000001b3;
enum { SEAL_SHIFT = 12 };

static void add_bytes(uint64_t *sum, const void *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        *sum = (*sum ^ ((const unsigned char *)bytes)[i]) * hash_factor;
}

static void add_value(uint64_t *sum, sqlite3_stmt *statement, int column)
{
    int type = sqlite3_column_type(statement, column);
    int64_t integer = sqlite3_column_int64(statement, column);
    double real = sqlite3_column_double(statement, column);
    add_bytes(sum, &type, sizeof type);
    if (type == SQLITE_INTEGER) {
        add_bytes(sum, &integer, sizeof integer);
    } else if (type == SQLITE_FLOAT) {
        add_bytes(sum, &real, sizeof real);
    } else if (type != SQLITE_NULL) {
        const void *bytes = sqlite3_column_blob(statement, column);
        int length = sqlite3_column_bytes(statement, column);
        add_bytes(sum, &length, sizeof length);
        add_bytes(sum, bytes, (size_t)length);
    }
}

/* Every value of the rows; ?1 is the point. */
static int add_rows(uint64_t *sum, sqlite3 *db, const char *sql, int64_t point)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK && sqlite3_bind_parameter_count(statement) > 0)
        rc = sqlite3_bind_int64(statement, 1, point);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(statement);
        for (int i = 0; rc == SQLITE_ROW && i < sqlite3_column_count(statement); i++)
            add_value(sum, statement, i);
    }
    sqlite3_finalize(statement);
    return rc;
}

static int hash_all(double *seal, sqlite3 *db, const char *const *sql, size_t count, int64_t point)
{
    uint64_t sum = hash_start;
    int rc = SQLITE_DONE;
    for (size_t i = 0; i < count && rc == SQLITE_DONE; i++)
        rc = add_rows(&sum, db, sql[i], point);
    *seal = (double)(sum >> SEAL_SHIFT);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int hash_run(double *seal, sqlite3 *db)
{
    static const char *const sql[] = {
        "SELECT * FROM run",
        "SELECT name, value, source FROM metric WHERE ifnull(point, 0) = 0 AND name <> 'seal' ORDER BY name",
        "SELECT id, key, ord, section, layers, rest_us FROM point ORDER BY id",
    };
    return hash_all(seal, db, sql, sizeof sql / sizeof *sql, 0);
}

static int hash_point(double *seal, sqlite3 *db, int64_t point)
{
    static const char *const sql[] = {
        "SELECT * FROM point WHERE id = ?1",
        "SELECT * FROM launch WHERE point = ?1 ORDER BY id",
        "SELECT * FROM sample WHERE point = ?1 ORDER BY ord",
        "SELECT launch, name, value, source FROM metric WHERE ifnull(point, 0) = ?1 AND name <> 'seal' ORDER BY ifnull(launch, 0), name",
    };
    return hash_all(seal, db, sql, sizeof sql / sizeof *sql, point);
}

int store_seal_run(struct store *store)
{
    double seal;
    if (hash_run(&seal, store->db) != SQLITE_OK)
        return store_db_fail(store->db, "cannot read", store->path);
    return store_execute(
        store, "INSERT OR REPLACE INTO metric VALUES(NULL, NULL, 'seal', ?, 'fnv-1a')", "r", seal);
}

int store_seal_point(struct store *store, int64_t point)
{
    double seal;
    if (hash_point(&seal, store->db, point) != SQLITE_OK)
        return store_db_fail(store->db, "cannot read", store->path);
    return store_execute(store,
                         "INSERT OR REPLACE INTO metric VALUES(?, NULL, 'seal', ?, 'fnv-1a')", "ir",
                         point, seal);
}

/* The seal that stands there, NaN if there is none. */
static int read_seal(double *seal, sqlite3 *db, int64_t point)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(
        db,
        "SELECT value FROM metric WHERE ifnull(point, 0) = ?1 AND ifnull(launch, 0) = 0 AND name = 'seal'",
        -1, &statement, NULL);
    *seal = (double)NAN;
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(statement, 1, point);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW)
        *seal = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int check_point(sqlite3 *db, const char *path, int64_t point, const char *key)
{
    double is, was;
    if (hash_point(&is, db, point) != SQLITE_OK || read_seal(&was, db, point) != SQLITE_OK)
        return store_db_fail(db, "cannot read", path);
    return is == was
               ? FAIL_OK
               : fail_set(FAIL_DATA, "%s is damaged: point %s is not as it was written", path, key);
}

static int check_points(sqlite3 *db, const char *path)
{
    sqlite3_stmt *statement = NULL;
    int result = FAIL_OK;
    int rc = sqlite3_prepare_v2(
        db, "SELECT id, key FROM point WHERE status NOT IN ('pending', 'running')", -1, &statement,
        NULL);
    while (result == FAIL_OK && (rc == SQLITE_OK || rc == SQLITE_ROW)) {
        rc = sqlite3_step(statement);
        if (rc == SQLITE_ROW)
            result = check_point(db, path, sqlite3_column_int64(statement, 0),
                                 (const char *)sqlite3_column_text(statement, 1));
    }
    if (result == FAIL_OK && rc != SQLITE_DONE)
        result = store_db_fail(db, "cannot read", path);
    sqlite3_finalize(statement);
    return result;
}

int store_check_seals(sqlite3 *db, const char *path)
{
    double is, was;
    if (hash_run(&is, db) != SQLITE_OK || read_seal(&was, db, 0) != SQLITE_OK)
        return store_db_fail(db, "cannot read", path);
    if (isnan(was))
        return FAIL_OK;
    if (is != was)
        return fail_set(FAIL_DATA, "%s is damaged: the run is not as it was written", path);
    return check_points(db, path);
}
