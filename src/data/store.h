/*
 * store: the run file.  SQLite with a rollback journal, one transaction a point.
 *
 * It holds what was asked, planned and measured (or modelled, labelled so); derived numbers are
 * computed by readers (analysis/row).  application_id is 'smsc' (0x736d7363), user_version is
 * STORE_VERSION.
 *
 * Tables, as in the schema in store.c:
 *   run     one row
 *   point   a row for each point asked for, from the start of the sweep: status "pending" until it
 *           is begun, "running" while in flight, then a final status.  key holds the values as
 *           asked, the axis columns the values used
 *   launch  a row for each distinct launch of a step, with `count`, how often a step makes it
 *   sample  nanoseconds of one step: the mean over the `steps` steps of one timed replay
 *   metric  name = the CSV column or the CUPTI metric; launch NULL: of the point, point NULL too:
 *           of the run.  "seal" (store_seal.c) is the file's own and not handed out
 */
#ifndef DATA_STORE_H
#define DATA_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/axis.h"
#include "data/point.h"

enum { STORE_VERSION = 1 };

enum store_status {
    STORE_PENDING,
    STORE_RUNNING,
    STORE_OK,
    STORE_SKIPPED,  /* unsupported shape, not enough memory; has a reason */
    STORE_FAILED,   /* launch or device error */
    STORE_INVALID,  /* measured, but the measurement broke a rule; has a reason */
    STORE_MISMATCH, /* differs from the reference; has no times */
    STORE_TIMEOUT,
    STORE_THROTTLED
};

const char *store_status_name(enum store_status status);

struct store_metric {
    int64_t launch_ord; /* -1: of the point */
    const char *name;
    double value; /* never NaN: a metric that is missing is not there */
    const char *source;
};

/* Strings are owned by whoever fills the struct; store_read() fills one it owns. */
struct store_run {
    int64_t id;       /* 0: store_create() makes it 1 */
    char *started_at; /* ISO 8601 UTC, seconds */
    char *command;    /* the command line */
    char *workload;   /* full text of the workload file; "" when -a options alone made it */
    int64_t seed;
    char *version, *kernels_hash;
    char *device, *uuid, *cc; /* "NVIDIA H200", "GPU-...", "9.0"; uuid "" for a model */
    int64_t sm_count;
    char *driver, *cuda, *cupti; /* versions as text; "" when there is none */
    char *spec; /* the device file's text (a measured device: as read from the machine) */
    const struct store_metric *settings; /* run-wide metrics that store_create() writes along; */
    size_t setting_count;                /* store_read() puts them to store_file's metrics */
};

struct store_launch {
    int64_t ord, count;
    const char *role, *name; /* plan_role_name(), device function as the plan names it */
    uint32_t grid[3], block[3];
    int64_t registers, smem_static_bytes, smem_dynamic_bytes;
    int64_t resident_blocks; /* an SM */
    uint64_t bytes, flops;   /* compulsory DRAM bytes and flops of one launch, from the plan */
};

struct store_sample {
    double ns; /* of one step */
    int64_t steps;
};

/* Everything a finished point leaves.  Owned by the caller. */
struct store_result {
    enum store_status status;
    const char *reason;          /* NULL: none */
    double rel_error, lse_error; /* NaN: not checked */
    /* AXIS_COUNT values for the axis columns; NULL: as asked.  What does not apply stays empty. */
    const struct axis_value *used;
    const struct store_launch *launches;
    size_t launch_count;
    const struct store_sample *samples;
    size_t sample_count;
    const struct store_metric *metrics;
    size_t metric_count;
};

struct store;

/*
 * Whether a sweep that writes to path would meet a run there.  FAIL_DATA: it could not write, now
 * or ever: another smscope is writing, a damaged or foreign file, no permission.
 */
int store_look(const char *path, bool *has_run);

/*
 * Creates the run file and writes run and all points as pending.  A missing or empty file is a new
 * run; an existing run is FAIL_USAGE (there is --resume), any other file FAIL_DATA and untouched;
 * FAIL_DATA where one cannot write.
 */
int store_create(struct store **store, const char *path, const struct store_run *run,
                 const struct point_list *points);

/*
 * Opens an existing run to go on with it; what a killed writer left half done is taken back.  While
 * one process has the run open for writing, another gets FAIL_DATA, "is being written by another
 * smscope"; readers are let in between points.  An open store does not survive fork(): close it
 * first.
 */
int store_resume(struct store **store, const char *path);

/*
 * Makes the run's points those of list: the first ones must be the points it has, in their order;
 * the others are added as pending, and then command and workload to the run's, a line each.
 */
int store_extend(struct store *store, const struct point_list *points, const char *command,
                 const char *workload);

/*
 * Writing to a file that was removed or replaced meanwhile is FAIL_DATA; what a removed one held is
 * saved beside it first, and the message says where.
 */

/* The status of point ord (its place in the list given to store_create). */
int store_get_status(struct store *store, size_t ord, enum store_status *status);
int store_begin_point(struct store *store, size_t ord); /* -> running */
int store_finish_point(struct store *store, size_t ord, const struct store_result *result);
/* Sets a run-wide metric (e.g. a measured roof); stored with point NULL. */
int store_put_run_metric(struct store *store, const char *name, double value, const char *source);
/* NaN: the run has no such metric. */
int store_get_run_metric(struct store *store, const char *name, double *value);
void store_close(struct store *store); /* NULL allowed */

/* ---- reading ---- */

/* Whether a run file, of whatever version, stands at path: text must not be written over it. */
bool store_is_run(const char *path);

struct store_point_read {
    int64_t ord;
    char *key, *section;
    double layers, rest_us;
    enum store_status status;
    char *reason; /* NULL: none */
    double rel_error, lse_error;
    char *axis[AXIS_COUNT]; /* text of the axis columns; NULL: does not apply */
    struct store_launch *launches;
    size_t launch_count;
    struct store_sample *samples;
    size_t sample_count;
    struct store_metric *metrics;
    size_t metric_count;
};

struct store_file {
    struct store_run run;
    struct store_point_read *points; /* in ord order, unfinished ones included */
    size_t count;
    struct store_metric *metrics; /* run-wide */
    size_t metric_count;
};

/*
 * Reads a whole run file; needs nothing but read access (a killed writer's journal is dealt with on
 * a temporary copy).  FAIL_DATA: missing, empty, not a run file, truncated, from a newer version;
 * one line, the file untouched.
 */
int store_read(struct store_file *file, const char *path);
void store_file_free(struct store_file *file);

/* Drops the points whose flag is not set; one flag a point. */
void store_keep_points(struct store_file *file, const bool *keep);

/* Value of a metric by launch_ord (-1: point) and name; NaN when it is not there.  *source gets its
 * label; source may be NULL. */
double store_find_metric(const struct store_point_read *point, int64_t launch_ord, const char *name,
                         const char **source);
/* The same of a run-wide metric. */
double store_find_run_metric(const struct store_file *file, const char *name, const char **source);

#endif
