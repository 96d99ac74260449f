/*
 * store_db: what the parts of store share.  store.c opens a run file for writing, store_result.c
 * writes points, store_read.c opens one for reading, store_rows.c reads it; nothing else includes
 * this.
 *
 * All messages name the file as the user did; all codes are FAIL_DATA.
 */
#ifndef DATA_STORE_DB_H
#define DATA_STORE_DB_H

#include <stdbool.h>

#include <sqlite3.h>

#include "data/store.h"

enum { STORE_APPLICATION_ID = 0x736d7363 }; /* "smsc" */

/* A byte beyond those that SQLite locks (1 GiB and the 511 after it): held by the one writer. */
enum { STORE_LOCK_BYTE = 0x50000000 };

/*
 * Looks at the first bytes of an open file, before SQLite does: empty, or a run file of a version
 * that is known here.  Anything else is an error, so that no foreign database is ever opened.
 */
int store_db_probe(int fd, const char *path, bool *empty);

/* Opens the file with SQLite, flags as for sqlite3_open_v2().  *db is to be
 * closed whatever the result. */
int store_db_open(sqlite3 **db, const char *path, int flags);

/* Pages, indices and references are sound. */
int store_db_check(sqlite3 *db, const char *path);

/* "DOING PATH: what SQLite and the system say". */
int store_db_fail(sqlite3 *db, const char *doing, const char *path);

struct store {
    sqlite3 *db;
    int lock;   /* descriptor, open while this process is the writer */
    char *path; /* as the user named it */
};

/* Inserts the list's points from `first` on, pending. */
int store_insert_points(struct store *store, const struct point_list *points, size_t first);

/*
 * The path still names the file that is open.  If not: FAIL_DATA, after saving a removed file to
 * PATH.saved.  Not to be called within a transaction.
 */
int store_check_place(struct store *store);

/* SQLite may be the first to notice that the file is gone, and calls it readonly: in place of such
 * a failure, what store_check_place() says.  Not within a transaction either. */
int store_explain(struct store *store, int result);

/* Within a transaction, without sealing. */
int store_insert_run_metric(struct store *store, const struct store_metric *metric);

/* To be called last within the transaction that changes what they seal. */
int store_seal_run(struct store *store);
int store_seal_point(struct store *store, int64_t point);
int store_check_seals(sqlite3 *db, const char *path);

/*
 * Runs one statement; types has a letter for each value bound: i int64_t, t const char * (NULL:
 * null), r double (NaN: null).
 */
int store_execute(struct store *store, const char *sql, const char *types, ...);

int store_begin(struct store *store);
/* Commits; or takes everything back, if result is a failure or the commit fails.  Returns which. */
int store_end(struct store *store, int result);

/* Reads and checks everything within one transaction, so that a writer at work
 * changes nothing underneath. */
int store_read_rows(sqlite3 *db, const char *path, struct store_file *file);

/* The status of that name; false: none. */
bool store_status_by_name(const char *name, enum store_status *status);

#endif
