/*
 * Writing.  A finished point is one transaction, so no SQLite lock is held while a point is
 * measured and readers get in between.  That also means that SQLite itself would let a second
 * writer in: the one writer therefore holds a lock of its own on a byte that SQLite does not use.
 * It is an open-file-description lock: it goes with the process however that ends, and, unlike
 * flock() on NFS, it does not meet SQLite's locks.
 */
#include "data/store_db.h"

#include "base/fail.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char schema_head[] =
    "CREATE TABLE run(id INTEGER PRIMARY KEY, started_at TEXT NOT NULL, command TEXT NOT NULL,"
    " workload TEXT NOT NULL, seed INTEGER NOT NULL, version TEXT NOT NULL, kernels_hash TEXT NOT NULL,"
    " device TEXT NOT NULL, uuid TEXT NOT NULL, cc TEXT NOT NULL, sm_count INTEGER NOT NULL,"
    " driver TEXT NOT NULL, cuda TEXT NOT NULL, cupti TEXT NOT NULL, spec TEXT NOT NULL);"
    "CREATE TABLE point(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, ord INTEGER NOT NULL UNIQUE,"
    " status TEXT NOT NULL, reason TEXT, rel_error REAL, lse_error REAL,"
    " section TEXT NOT NULL, layers REAL NOT NULL, rest_us REAL NOT NULL";

static const char schema_tail[] =
    ");"
    "CREATE TABLE launch(id INTEGER PRIMARY KEY, point INTEGER NOT NULL REFERENCES point(id),"
    " ord INTEGER NOT NULL, count INTEGER NOT NULL, role TEXT NOT NULL, name TEXT NOT NULL,"
    " grid TEXT NOT NULL, block TEXT NOT NULL, regs INTEGER NOT NULL, smem_static INTEGER NOT NULL,"
    " smem_dynamic INTEGER NOT NULL, resident_blocks INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " flops INTEGER NOT NULL, UNIQUE(point, ord));"
    "CREATE TABLE sample(point INTEGER NOT NULL REFERENCES point(id), ord INTEGER NOT NULL,"
    " ns REAL NOT NULL, steps INTEGER NOT NULL, PRIMARY KEY(point, ord)) WITHOUT ROWID;"
    "CREATE TABLE metric(point INTEGER REFERENCES point(id), launch INTEGER REFERENCES launch(id),"
    " name TEXT NOT NULL, value REAL NOT NULL, source TEXT NOT NULL);"
    "CREATE UNIQUE INDEX metric_once ON metric(ifnull(point, 0), ifnull(launch, 0), name);";

static int create_tables(struct store *store)
{
    struct text sql = TEXT_INIT;
    text_add(&sql, schema_head);
    for (enum axis_id id = 0; id < AXIS_COUNT; id++)
        text_addf(&sql, ", \"%s\"", axis_info(id)->name);
    text_add(&sql, schema_tail);
    text_addf(&sql, "PRAGMA application_id = %d; PRAGMA user_version = %d;", STORE_APPLICATION_ID,
              STORE_VERSION);
    int rc = FAIL_OK;
    if (sqlite3_exec(store->db, sql.bytes, NULL, NULL, NULL) != SQLITE_OK)
        rc = store_db_fail(store->db, "cannot write", store->path);
    text_free(&sql);
    return rc;
}

static int insert_run(struct store *store, const struct store_run *run)
{
    return store_execute(
        store, "INSERT INTO run VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        "itttitttttitttt", run->id > 0 ? run->id : (int64_t)1, run->started_at, run->command,
        run->workload, run->seed, run->version, run->kernels_hash, run->device, run->uuid, run->cc,
        run->sm_count, run->driver, run->cuda, run->cupti, run->spec);
}

/* ---- opening ---- */

/* Its own descriptor: closing any descriptor of the file ends SQLite's locks,
 * so it stays open as long as SQLite. */
static int take_lock(struct store *store)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = STORE_LOCK_BYTE, .l_len = 1};
    if (fcntl(store->lock, F_OFD_SETLK, &lock) == 0)
        return FAIL_OK;
    if (errno == EAGAIN || errno == EACCES)
        return fail_set(FAIL_DATA, "%s is being written by another smscope", store->path);
    return fail_set(FAIL_DATA, "cannot lock %s: %s", store->path, strerror(errno));
}

/* SQLite's journal stands beside the run file; without this it would say
 * "unable to open database file". */
static int check_folder(const char *path)
{
    char *absolute = realpath(path, NULL);
    int rc = FAIL_OK;
    if (!absolute || faccessat(AT_FDCWD, dirname(absolute), W_OK, AT_EACCESS) != 0)
        rc = fail_set(FAIL_DATA, "cannot write %s: its folder: %s", path, strerror(errno));
    free(absolute);
    return rc;
}

/* Opens the file for writing and becomes its writer; *empty tells whether there
 * is anything in it yet. */
static int open_writer(struct store *store, int flags, bool *empty)
{
    store->lock = open(store->path, O_RDWR | O_CLOEXEC | O_NOCTTY | flags, 0666);
    if (store->lock < 0)
        return fail_set(FAIL_DATA, "cannot write %s: %s", store->path, strerror(errno));
    int rc = store_db_probe(store->lock, store->path, empty);
    if (rc == FAIL_OK)
        rc = check_folder(store->path);
    if (rc == FAIL_OK)
        rc = take_lock(store);
    if (rc == FAIL_OK)
        rc = store_db_probe(store->lock, store->path,
                            empty); /* again: nobody else writes to it from here on */
    if (rc == FAIL_OK)
        rc = store_db_open(&store->db, store->path, SQLITE_OPEN_READWRITE);
    if (rc == FAIL_OK)
        rc = store_execute(store, "PRAGMA synchronous = FULL", "");
    return rc;
}

static struct store *new_store(const char *path)
{
    struct store *store = mem_new(1, sizeof *store);
    store->lock = -1;
    store->path = mem_strdup(path);
    return store;
}

/* A file with a header but no table: its creator was killed before it was done. */
static int has_tables(struct store *store, bool *has)
{
    int rc = FAIL_OK;
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(store->db, "SELECT 1 FROM sqlite_schema", -1, &statement, NULL) !=
        SQLITE_OK)
        return store_db_fail(store->db, "cannot read", store->path);
    int stepped = sqlite3_step(statement);
    *has = stepped == SQLITE_ROW;
    if (stepped != SQLITE_ROW && stepped != SQLITE_DONE)
        rc = store_db_fail(store->db, "cannot read", store->path);
    sqlite3_finalize(statement);
    return rc;
}

static int fill_new(struct store *store, const struct store_run *run,
                    const struct point_list *points)
{
    /* nothing is written before the commit, which begins with page 1: whoever is killed here leaves
     * an empty file or one that store_db_probe() knows */
    int rc = store_execute(store, "PRAGMA cache_spill = OFF", "");
    if (rc == FAIL_OK)
        rc = store_begin(store);
    if (rc != FAIL_OK)
        return rc;
    rc = create_tables(store);
    if (rc == FAIL_OK)
        rc = insert_run(store, run);
    for (size_t i = 0; i < run->setting_count && rc == FAIL_OK; i++)
        rc = store_insert_run_metric(store, &run->settings[i]);
    if (rc == FAIL_OK)
        rc = store_insert_points(store, points, 0);
    if (rc == FAIL_OK)
        rc = store_seal_run(store);
    return store_end(store, rc);
}

int store_look(const char *path, bool *has_run)
{
    *has_run = false;
    if (access(path, F_OK) != 0)
        return FAIL_OK;
    struct store *store = new_store(path);
    bool empty = false;
    int rc = open_writer(store, 0, &empty);
    if (rc == FAIL_OK && !empty)
        rc = has_tables(store, has_run);
    store_close(store);
    return rc;
}

int store_create(struct store **store, const char *path, const struct store_run *run,
                 const struct point_list *points)
{
    struct store *new = new_store(path);
    bool missing = access(path, F_OK) != 0, empty = false, has = false;
    int rc = open_writer(new, O_CREAT, &empty);
    if (rc == FAIL_OK && !empty)
        rc = has_tables(new, &has);
    if (rc == FAIL_OK && has)
        rc = fail_set(FAIL_USAGE,
                      "%s holds a run already; go on with it by --resume, or name another file",
                      path);
    if (rc == FAIL_OK)
        rc = fill_new(new, run, points);
    if (rc != FAIL_OK) {
        if (missing && new->db)
            unlink(path);
        store_close(new);
        new = NULL;
    }
    *store = new;
    return rc;
}

int store_resume(struct store **store, const char *path)
{
    struct store *old = new_store(path);
    bool empty = false, has = false;
    int rc = open_writer(old, 0, &empty);
    if (rc == FAIL_OK && !empty)
        rc = has_tables(old, &has);
    if (rc == FAIL_OK && !has)
        rc = fail_set(FAIL_DATA, "%s is empty: no run to go on with", path);
    if (rc == FAIL_OK)
        rc = store_db_check(old->db, path);
    if (rc != FAIL_OK) {
        store_close(old);
        old = NULL;
    }
    *store = old;
    return rc;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    sqlite3_close(store->db);
    if (store->lock >= 0)
        close(store->lock);
    free(store->path);
    free(store);
}
