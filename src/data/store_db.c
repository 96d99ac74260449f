#include "data/store_db.h"

#include "base/fail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const status_names[] = {
    [STORE_PENDING] = "pending",   [STORE_RUNNING] = "running", [STORE_OK] = "ok",
    [STORE_SKIPPED] = "skipped",   [STORE_FAILED] = "failed",   [STORE_INVALID] = "invalid",
    [STORE_MISMATCH] = "mismatch", [STORE_TIMEOUT] = "timeout", [STORE_THROTTLED] = "throttled",
};
enum { STATUS_COUNT = sizeof status_names / sizeof *status_names };

const char *store_status_name(enum store_status status)
{
    return status_names[status];
}

bool store_status_by_name(const char *name, enum store_status *status)
{
    for (int i = 0; i < STATUS_COUNT; i++) {
        if (name && strcmp(name, status_names[i]) == 0) {
            *status = (enum store_status)i;
            return true;
        }
    }
    return false;
}

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Offsets as in "Database File Format", section 1.3, of SQLite's documentation. */
enum { HEAD_BYTES = 100, VERSION_AT = 60, APPLICATION_AT = 68 };

static bool is_run_head(const unsigned char *head, ssize_t length)
{
    return length >= HEAD_BYTES && memcmp(head, "SQLite format 3", 16) == 0 &&
           big_endian(head + APPLICATION_AT) == STORE_APPLICATION_ID;
}

bool store_is_run(const char *path)
{
    unsigned char head[HEAD_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    bool is_run = fd >= 0 && is_run_head(head, pread(fd, head, sizeof head, 0));
    if (fd >= 0)
        close(fd);
    return is_run;
}

int store_db_probe(int fd, const char *path, bool *empty)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return fail_set(FAIL_DATA, "%s is not a run file: not a regular file", path);
    *empty = info.st_size == 0;
    if (*empty)
        return FAIL_OK;
    unsigned char head[HEAD_BYTES];
    ssize_t got = pread(fd, head, sizeof head, 0);
    if (got < 0)
        return fail_set(FAIL_DATA, "cannot read %s: %s", path, strerror(errno));
    if (!is_run_head(head, got))
        return fail_set(FAIL_DATA, "%s is not a run file of smscope", path);
    uint32_t version = big_endian(head + VERSION_AT);
    if (version > STORE_VERSION)
        return fail_set(FAIL_DATA,
                        "%s was written by a newer smscope (format %u, this one reads up to %d)",
                        path, (unsigned)version, STORE_VERSION);
    return FAIL_OK;
}

int store_db_open(sqlite3 **db, const char *path, int flags)
{
    /* SQLite gives names such as ":memory:" and "file:..." a meaning of their
     * own; an absolute path has none */
    char *absolute = realpath(path, NULL);
    if (!absolute)
        return fail_set(FAIL_DATA, "cannot open %s: %s", path, strerror(errno));
    int rc = sqlite3_open_v2(absolute, db, flags, NULL);
    free(absolute);
    if (rc != SQLITE_OK)
        return store_db_fail(*db, "cannot open", path);
    sqlite3_extended_result_codes(*db, 1);
    sqlite3_busy_timeout(*db, 10000);
    if (sqlite3_exec(*db, "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF", NULL, NULL,
                     NULL) != SQLITE_OK)
        return store_db_fail(*db, "cannot open", path);
    return FAIL_OK;
}

/* Runs a check that answers with no row, or with "ok", when all is well. */
static int run_check(sqlite3 *db, const char *path, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        return store_db_fail(db, "cannot read", path);
    int result = FAIL_OK;
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) {
        const char *said = (const char *)sqlite3_column_text(statement, 0);
        if (!said || strcmp(said, "ok") != 0)
            result = fail_set(FAIL_DATA, "%s is damaged: %s", path, said ? said : "no answer");
    } else if (rc != SQLITE_DONE) {
        result = store_db_fail(db, "cannot read", path);
    }
    sqlite3_finalize(statement);
    return result;
}

int store_db_check(sqlite3 *db, const char *path)
{
    int rc = run_check(db, path, "PRAGMA integrity_check(1)");
    if (rc == FAIL_OK)
        rc = run_check(
            db, path,
            "SELECT 'a row of table ' || \"table\" || ' belongs to nothing' FROM pragma_foreign_key_check");
    return rc;
}

int store_db_fail(sqlite3 *db, const char *doing, const char *path)
{
    int code = sqlite3_extended_errcode(db) & 0xff;
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
        return fail_set(FAIL_DATA, "%s is damaged: %s", path, sqlite3_errmsg(db));
    int system = sqlite3_system_errno(db);
    if (system && (code == SQLITE_IOERR || code == SQLITE_CANTOPEN))
        return fail_set(FAIL_DATA, "%s %s: %s (%s)", doing, path, sqlite3_errmsg(db),
                        strerror(system));
    return fail_set(FAIL_DATA, "%s %s: %s", doing, path, sqlite3_errmsg(db));
}

static int bind(sqlite3_stmt *statement, const char *types, va_list values)
{
    int rc = SQLITE_OK;
    for (int i = 0; types[i] && rc == SQLITE_OK; i++) {
        if (types[i] == 'i')
            rc = sqlite3_bind_int64(statement, i + 1, va_arg(values, int64_t));
        else if (types[i] == 't')
            rc = sqlite3_bind_text(statement, i + 1, va_arg(values, const char *), -1,
                                   SQLITE_TRANSIENT);
        else
            rc = sqlite3_bind_double(statement, i + 1, va_arg(values, double));
    }
    return rc;
}

int store_execute(struct store *store, const char *sql, const char *types, ...)
{
    sqlite3_stmt *statement = NULL;
    va_list values;
    va_start(values, types);
    int rc = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK)
        rc = bind(statement, types, values);
    va_end(values);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    int result = rc == SQLITE_DONE || rc == SQLITE_ROW
                     ? FAIL_OK
                     : store_db_fail(store->db, "cannot write", store->path);
    sqlite3_finalize(statement);
    return result;
}

int store_begin(struct store *store)
{
    return store_explain(store, store_execute(store, "BEGIN IMMEDIATE", ""));
}

int store_end(struct store *store, int result)
{
    if (result == FAIL_OK)
        result = store_execute(store, "COMMIT", "");
    if (result != FAIL_OK)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return store_explain(store, result);
}
