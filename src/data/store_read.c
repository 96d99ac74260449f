/*
 * Reading.  The file is opened read-only and never changed: SQLite would answer a killed writer's
 * journal by rolling it back in place, so in that case both files are copied to a temporary folder
 * and read there.
 */
#include "data/store_db.h"

#include "base/fail.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* *hot: a killed writer left a journal, which a reader may not roll back in place. */
static int open_reader(sqlite3 **db, const char *path, bool *hot)
{
    int rc = store_db_open(db, path, SQLITE_OPEN_READONLY);
    if (rc != FAIL_OK)
        return rc;
    int said = sqlite3_exec(*db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
    *hot = said == SQLITE_READONLY_ROLLBACK;
    return said == SQLITE_OK || *hot ? FAIL_OK : store_db_fail(*db, "cannot read", path);
}

/* Both files as they are at one moment: a writer that took over meanwhile would hold the lock. */
static int copy_files(const char *path, const char *copy)
{
    struct flock lock = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = STORE_LOCK_BYTE, .l_len = 1};
    struct text bytes = TEXT_INIT, name = TEXT_INIT;
    char *absolute = realpath(path, NULL);
    int fd = absolute ? open(absolute, O_RDONLY | O_CLOEXEC) : -1;
    int rc = FAIL_OK;
    if (fd < 0)
        rc = fail_set(FAIL_DATA, "cannot read %s: %s", path, strerror(errno));
    else if (fcntl(fd, F_OFD_SETLK, &lock) != 0)
        rc = fail_set(FAIL_DATA, "%s is being written by another smscope; try again", path);
    if (rc == FAIL_OK)
        rc = text_read_file(&bytes, absolute);
    if (rc == FAIL_OK)
        rc = text_write_file(copy, bytes.bytes, bytes.length);
    if (rc == FAIL_OK) {
        text_addf(&name, "%s-journal", absolute);
        rc = text_read_file(&bytes, name.bytes);
    }
    if (rc == FAIL_OK) {
        text_clear(&name);
        text_addf(&name, "%s-journal", copy);
        rc = text_write_file(name.bytes, bytes.bytes, bytes.length);
    }
    if (fd >= 0)
        close(fd);
    free(absolute);
    text_free(&bytes);
    text_free(&name);
    return rc;
}

static int read_copy(const char *path, struct store_file *file)
{
    const char *parent = getenv("TMPDIR");
    struct text folder = TEXT_INIT, copy = TEXT_INIT, journal = TEXT_INIT;
    sqlite3 *db = NULL;
    text_addf(&folder, "%s/smscope.XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder.bytes)) {
        int rc = fail_set(
            FAIL_DATA, "%s has a killed writer's journal; no temporary folder %s to read it in: %s",
            path, folder.bytes, strerror(errno));
        text_free(&folder);
        return rc;
    }
    text_addf(&copy, "%s/run.db", folder.bytes);
    text_addf(&journal, "%s-journal", copy.bytes);
    int rc = copy_files(path, copy.bytes);
    if (rc == FAIL_OK)
        rc = store_db_open(&db, copy.bytes, SQLITE_OPEN_READWRITE);
    if (rc == FAIL_OK)
        rc = store_read_rows(db, path, file);
    sqlite3_close(db);
    unlink(copy.bytes);
    unlink(journal.bytes);
    rmdir(folder.bytes);
    text_free(&folder);
    text_free(&copy);
    text_free(&journal);
    return rc;
}

/* Looks at the header first, by a descriptor that is closed before SQLite opens the file. */
static int probe(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return fail_set(FAIL_DATA, "cannot read %s: %s", path, strerror(errno));
    bool empty = false;
    int rc = store_db_probe(fd, path, &empty);
    if (rc == FAIL_OK && empty)
        rc = fail_set(FAIL_DATA, "%s is empty: it holds no run", path);
    close(fd);
    return rc;
}

int store_read(struct store_file *file, const char *path)
{
    *file = (struct store_file){0};
    bool hot = false;
    sqlite3 *db = NULL;
    int rc = probe(path);
    if (rc == FAIL_OK)
        rc = open_reader(&db, path, &hot);
    if (rc == FAIL_OK && !hot)
        rc = store_read_rows(db, path, file);
    sqlite3_close(db);
    if (rc == FAIL_OK && hot)
        rc = read_copy(path, file);
    if (rc != FAIL_OK)
        store_file_free(file);
    return rc;
}

static void free_metrics(struct store_metric *metrics, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free((void *)metrics[i].name);
        free((void *)metrics[i].source);
    }
    free(metrics);
}

static void free_point(struct store_point_read *point)
{
    free(point->key);
    free(point->section);
    free(point->reason);
    for (int id = 0; id < AXIS_COUNT; id++)
        free(point->axis[id]);
    for (size_t i = 0; i < point->launch_count; i++) {
        free((void *)point->launches[i].role);
        free((void *)point->launches[i].name);
    }
    free(point->launches);
    free(point->samples);
    free_metrics(point->metrics, point->metric_count);
}

void store_file_free(struct store_file *file)
{
    struct store_run *run = &file->run;
    char *strings[] = {run->started_at,   run->command, run->workload, run->version,
                       run->kernels_hash, run->device,  run->uuid,     run->cc,
                       run->driver,       run->cuda,    run->cupti,    run->spec};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        free(strings[i]);
    for (size_t i = 0; i < file->count; i++)
        free_point(&file->points[i]);
    free(file->points);
    free_metrics(file->metrics, file->metric_count);
    *file = (struct store_file){0};
}

void store_keep_points(struct store_file *file, const bool *keep)
{
    size_t kept = 0;
    for (size_t i = 0; i < file->count; i++) {
        if (keep[i])
            file->points[kept++] = file->points[i];
        else
            free_point(&file->points[i]);
    }
    file->count = kept;
}

static double find_metric(const struct store_metric *metrics, size_t count, int64_t launch_ord,
                          const char *name, const char **source)
{
    if (source)
        *source = NULL;
    for (size_t i = 0; i < count; i++) {
        if (metrics[i].launch_ord == launch_ord && strcmp(metrics[i].name, name) == 0) {
            if (source)
                *source = metrics[i].source;
            return metrics[i].value;
        }
    }
    return (double)NAN;
}

double store_find_metric(const struct store_point_read *point, int64_t launch_ord, const char *name,
                         const char **source)
{
    return find_metric(point->metrics, point->metric_count, launch_ord, name, source);
}

double store_find_run_metric(const struct store_file *file, const char *name, const char **source)
{
    return find_metric(file->metrics, file->metric_count, -1, name, source);
}
