/*
 * row: the facts of one point or launch, and the only place where a derived number is computed.
 *
 * row_columns and row_launch_columns describe every CSV column once: export, `list columns` and the
 * documentation read them.  NaN and NULL mean "not measured" and become empty fields.
 *
 * No modelled number is mixed into a measured row: what would differ in kind from the label of its
 * group (source, gpu_source, counter_source) is left out.
 */
#ifndef ANALYSIS_ROW_H
#define ANALYSIS_ROW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/table.h"
#include "data/store.h"

enum { ROW_ROOFS_ROOM = sizeof "fma,tensor,l2,dram" };

/* Borrows everything from the store_file. */
struct row {
    const struct store_point_read *point;
    const char *device, *status, *section, *reason, *key;
    double run, sm_count; /* integers */
    double samples;       /* integer */
    /* Empty unless the point is ok, invalid or throttled, like all that follows from times. */
    double step_us, step_us_lo, step_us_hi;
    double gpu_us, main_us, combine_us;
    double tokens_per_s, kv_gb_per_s, tflops, pct_of_floor;
    double theoretical_occupancy_pct, achieved_occupancy_pct;
    double busy_sms, sms_used, sm_fill_pct, waves, tail_pct;
    double kv_reread_x, l2_hit_pct, sm_clock_mhz;
    double pct_of_bound, pct_of_fma, pct_of_tensor, pct_of_l2, pct_of_dram; /* as bound.h tells */
    const char *bound;                  /* fma, tensor, l2 or dram */
    char assumed_roofs[ROW_ROOFS_ROOM]; /* those that are assumed, not measured or published */
    double throttled;                   /* 1 or 0 */
    double drifted;                     /* the same, of the whole run */
    double rel_error, lse_error, layers, rest_us;
    double concurrency, batch, topk, heads; /* integers; NaN: the kernel does not read the axis */
    const char *source;     /* of step_us and what follows from it: event or model */
    const char *gpu_source; /* of gpu_us, main_us, combine_us: cupti-activity or model */
    /* Of occupancy, SMs and kv_reread_x: range-profiler, sm-residency or model. */
    const char *counter_source;
    bool modelled; /* any number in it is */
};

/* One row for each finished point, in order; *rows to be freed with row_free().
 * The file must outlive them. */
size_t row_from_file(const struct store_file *file, struct row **rows);
void row_free(struct row *rows);

/* One distinct launch of a point's step. */
struct row_launch {
    const struct store_point_read *point;
    const char *key, *role, *kernel_name;
    char grid[40], block[40]; /* "4x64x1" */
    /* Integers. */
    double run, ord, count, registers, smem_bytes, resident_blocks, plan_bytes, plan_flops;
    double registers_planned; /* 1: so are they, NaN: they are the compiler's or the device's */
    double gpu_us;            /* mean of the launches that are alike */
    double theoretical_occupancy_pct, achieved_occupancy_pct, busy_sms, sms_used, waves, tail_pct;
    double dram_bytes, l2_to_sm_bytes;
    const char *source;         /* of gpu_us */
    const char *counter_source; /* of achieved occupancy, SMs and bytes */
};

void row_launch_get(const struct store_file *file, const struct store_point_read *point,
                    size_t launch, struct row_launch *row);

enum row_kind {
    ROW_WORD,  /* place: offset of a const char * */
    ROW_CHARS, /* of a char array */
    ROW_INT,   /* of a double that is an integer */
    ROW_REAL,  /* of a double */
    ROW_AXIS   /* an enum axis_id: what the run file's axis column shows */
};

struct row_column {
    struct table_column column;
    enum row_kind kind;
    size_t place;
    const char *derivation; /* where it comes from, one line */
};

extern const struct row_column row_columns[];        /* of struct row */
extern const struct row_column row_launch_columns[]; /* of struct row_launch */
extern const size_t row_column_count, row_launch_column_count;

/* Every column of the rows; of the launches of every finished point. */
struct table *row_table(const struct row *rows, size_t count);
struct table *row_launch_table(const struct store_file *file);

/* Whether a point has come to an end: neither pending nor running. */
bool row_is_finished(const struct store_point_read *point);

#endif
