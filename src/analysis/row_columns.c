#include "analysis/row.h"

#include "base/text.h"

#include <math.h>

/* Decimals are for people; CSV and JSON always have six digits. */
#define WORD(type, field, derivation)                                              \
    {                                                                              \
        {#field, NULL, TABLE_WORD, 0}, ROW_WORD, offsetof(type, field), derivation \
    }
#define CHARS(type, field, derivation)                                              \
    {                                                                               \
        {#field, NULL, TABLE_WORD, 0}, ROW_CHARS, offsetof(type, field), derivation \
    }
#define INT(type, field, derivation)                                             \
    {                                                                            \
        {#field, NULL, TABLE_INT, 0}, ROW_INT, offsetof(type, field), derivation \
    }
#define REAL(type, field, decimals, derivation)                                           \
    {                                                                                     \
        {#field, NULL, TABLE_REAL, decimals}, ROW_REAL, offsetof(type, field), derivation \
    }
#define AXIS(name, kind, id)                                 \
    {                                                        \
        {name, NULL, kind, 0}, ROW_AXIS, id, "axis, as used" \
    }

/* The order up to lse_error is a contract; what follows may grow at the end. */
const struct row_column row_columns[] = {
    INT(struct row, run, "run file: run.id"),
    WORD(struct row, device, "run file: run.device"),
    AXIS("kernel", TABLE_WORD, AXIS_KERNEL),
    AXIS("variant", TABLE_WORD, AXIS_VARIANT),
    AXIS("heads", TABLE_INT, AXIS_HEADS),
    AXIS("concurrency", TABLE_INT, AXIS_CONCURRENCY),
    AXIS("batch", TABLE_INT, AXIS_BATCH),
    AXIS("topk", TABLE_INT, AXIS_TOPK),
    AXIS("nsplit", TABLE_INT, AXIS_NSPLIT),
    WORD(struct row, source, "what step_us is from: event or model"),
    WORD(struct row, status, "ok, skipped, failed, invalid, mismatch, timeout or throttled"),
    INT(struct row, samples, "timed replays"),
    REAL(struct row, step_us, 2,
         "median of the samples; model: modelled launches and the gaps between them"),
    REAL(struct row, step_us_lo, 2, "lower end of the 95 % interval of that median"),
    REAL(struct row, step_us_hi, 2, "upper end of it"),
    REAL(struct row, gpu_us, 2, "union of a step's launches in time, median over the traced steps"),
    REAL(struct row, tokens_per_s, 0, "concurrency / (layers x step_us + rest_us)"),
    REAL(struct row, kv_gb_per_s, 1, "valid entries x 584 bytes / step_us"),
    REAL(struct row, tflops, 2, "2 x heads x valid entries x 1024 / step_us"),
    REAL(
        struct row, pct_of_floor, 2,
        "100 x max(bytes / read roof, flops / matrix peak) / step_us; roofs as measured in the run, else the device file's"),
    REAL(struct row, theoretical_occupancy_pct, 1,
         "resident warps a main launch could have / the SM's maximum"),
    REAL(
        struct row, achieved_occupancy_pct, 1,
        "main launches: sm__warps_active.avg.pct_of_peak_sustained_active, weighted by time; model: block schedule"),
    REAL(struct row, busy_sms, 1, "main launches: the SMs' busy time / the busiest SM's"),
    INT(struct row, sm_count, "run file: run.sm_count"),
    REAL(struct row, sm_fill_pct, 1,
         "100 x the SMs' time with work / (all SMs x time of the launches), combine included"),
    REAL(struct row, waves, 2, "blocks of a main launch / (SMs x resident blocks)"),
    REAL(struct row, tail_pct, 1,
         "share of a main launch after the first SM has run out of blocks for good"),
    REAL(
        struct row, kv_reread_x, 2,
        "main launches: bytes the SMs read from L2, q and index lists too, / (valid entries x 584); model: by list width"),
    REAL(struct row, l2_hit_pct, 1,
         "main launches: sectors the SMs read from L2 that were in it / all they read"),
    REAL(struct row, sm_clock_mhz, 0, "gpc__cycles_elapsed.avg.per_second of the main launches"),
    INT(struct row, throttled,
        "1: heat, a hardware slowdown or another GPU held the clocks back, 0: none of them"),
    REAL(struct row, rel_error, -1, "worst (row, head) of |out - reference| / |reference|"),
    REAL(struct row, lse_error, -1, "worst |difference of lse| / max(1, |reference|)"),
    WORD(struct row, section, "section of the workload"),
    REAL(struct row, layers, -1, "section key: layers of the model"),
    REAL(struct row, rest_us, -1, "section key: rest of a decode step"),
    AXIS("extra_topk", TABLE_INT, AXIS_EXTRA_TOPK),
    AXIS("length", TABLE_WORD, AXIS_LENGTH),
    AXIS("extra_length", TABLE_WORD, AXIS_EXTRA_LENGTH),
    AXIS("page", TABLE_INT, AXIS_PAGE),
    AXIS("extra_page", TABLE_INT, AXIS_EXTRA_PAGE),
    AXIS("stride", TABLE_WORD, AXIS_STRIDE),
    AXIS("sink", TABLE_WORD, AXIS_SINK),
    AXIS("cache", TABLE_WORD, AXIS_CACHE),
    AXIS("launch", TABLE_WORD, AXIS_LAUNCH),
    WORD(struct row, gpu_source,
         "what gpu_us, main_us and combine_us are from: cupti-activity or model"),
    WORD(
        struct row, counter_source,
        "what achieved_occupancy_pct, busy_sms, sms_used, sm_fill_pct, tail_pct and kv_reread_x are from:"
        " range-profiler, sm-residency or model"),
    REAL(struct row, sms_used, 0, "SMs that ran a block, the most of any launch"),
    WORD(struct row, reason, "why the status, or why a number is missing"),
    REAL(struct row, main_us, 2, "time of a step's main launches"),
    REAL(
        struct row, combine_us, 2,
        "what a step's combine launches add to that; where they overlap, the time is the main launches'"),
    WORD(struct row, key, "what compare and --resume match by"),
    WORD(
        struct row, bound,
        "the largest of the step's shares of the roofs: fma or tensor, l2, dram; empty while one is not known"),
    REAL(struct row, pct_of_bound, 1, "that share"),
    REAL(struct row, pct_of_fma, 1, "100 x tflops / fp32 peak, of a kernel on the FMA units"),
    REAL(struct row, pct_of_tensor, 1, "100 x tflops / matrix peak, of a kernel on tensor cores"),
    REAL(struct row, pct_of_l2, 1, "100 x L2-to-SM bytes of all launches / step_us / L2 bandwidth"),
    REAL(struct row, pct_of_dram, 1,
         "100 x DRAM bytes of all launches, counted or modelled / step_us / read roof"),
    CHARS(struct row, assumed_roofs,
          "roofs of those shares that are assumed figures, neither measured nor published"),
    INT(struct row, drifted,
        "of the run: 1 if its first point, timed again at the end, had moved beyond its noise, else 0"),
};
const size_t row_column_count = sizeof row_columns / sizeof *row_columns;

const struct row_column row_launch_columns[] = {
    INT(struct row_launch, run, "run file: run.id"),
    WORD(struct row_launch, key, "key of the point"),
    AXIS("kernel", TABLE_WORD, AXIS_KERNEL),
    AXIS("heads", TABLE_INT, AXIS_HEADS),
    AXIS("concurrency", TABLE_INT, AXIS_CONCURRENCY),
    AXIS("batch", TABLE_INT, AXIS_BATCH),
    AXIS("topk", TABLE_INT, AXIS_TOPK),
    AXIS("nsplit", TABLE_INT, AXIS_NSPLIT),
    INT(struct row_launch, ord, "place among the distinct launches of a step"),
    WORD(struct row_launch, role, "main or combine"),
    WORD(struct row_launch, kernel_name, "device function"),
    CHARS(struct row_launch, grid, "blocks"),
    CHARS(struct row_launch, block, "threads of a block"),
    INT(struct row_launch, registers, "of a thread"),
    INT(struct row_launch, smem_bytes, "shared memory of a block, static and dynamic"),
    REAL(struct row_launch, gpu_us, 2, "mean over the launches of this kind"),
    REAL(struct row_launch, theoretical_occupancy_pct, 1,
         "resident warps it could have / the SM's maximum"),
    REAL(struct row_launch, achieved_occupancy_pct, 1,
         "sm__warps_active.avg.pct_of_peak_sustained_active"),
    REAL(struct row_launch, busy_sms, 1, "the SMs' busy time / the busiest SM's"),
    REAL(struct row_launch, dram_bytes, -1,
         "dram__bytes_read.sum + dram__bytes_write.sum; model: as plan_bytes"),
    WORD(struct row_launch, source, "what gpu_us is from: cupti-activity or model"),
    WORD(struct row_launch, counter_source,
         "what achieved occupancy, SMs and bytes are from: range-profiler, sm-residency or model"),
    INT(struct row_launch, count, "how often a step makes this launch"),
    REAL(struct row_launch, waves, 2, "blocks / (SMs x resident blocks)"),
    INT(struct row_launch, resident_blocks, "blocks that an SM can hold"),
    REAL(struct row_launch, sms_used, 0, "SMs that ran a block"),
    REAL(struct row_launch, tail_pct, 1,
         "share of it after the first SM has run out of blocks for good"),
    REAL(
        struct row_launch, l2_to_sm_bytes, -1,
        "bytes the SMs read from L2: lts__t_sectors_srcunit_tex_op_read.sum x 32; model: as planned"),
    INT(struct row_launch, plan_bytes, "plan: DRAM bytes it cannot do without"),
    INT(struct row_launch, plan_flops, "plan: flops"),
    INT(struct row_launch, registers_planned,
        "1: registers are what __launch_bounds__ allows, as no compiler report names the function"),
};
const size_t row_launch_column_count = sizeof row_launch_columns / sizeof *row_launch_columns;

static void put_axis(struct table *table, size_t column, const char *shown)
{
    int64_t number;
    if (shown && text_to_int(shown, &number))
        table_int(table, column, number);
    else
        table_word(table, column, shown);
}

/* A row of cells from the struct at `facts`. */
static void put_row(struct table *table, const struct row_column *columns, size_t count,
                    const void *facts, const struct store_point_read *point)
{
    table_row(table);
    for (size_t i = 0; i < count; i++) {
        const void *field =
            columns[i].kind == ROW_AXIS ? NULL : (const char *)facts + columns[i].place;
        switch (columns[i].kind) {
        case ROW_WORD:
            table_word(table, i, *(const char *const *)field);
            break;
        case ROW_CHARS:
            table_word(table, i, field);
            break;
        case ROW_INT:
            if (!isnan(*(const double *)field))
                table_int(table, i, (int64_t) * (const double *)field);
            break;
        case ROW_REAL:
            table_real(table, i, *(const double *)field);
            break;
        case ROW_AXIS:
            put_axis(table, i, point->axis[columns[i].place]);
            break;
        }
    }
}

struct table *row_table(const struct row *rows, size_t count)
{
    static struct table_column columns[sizeof row_columns / sizeof *row_columns];
    for (size_t i = 0; i < row_column_count; i++)
        columns[i] = row_columns[i].column;
    struct table *table = table_new(columns, row_column_count);
    for (size_t i = 0; i < count; i++)
        put_row(table, row_columns, row_column_count, &rows[i], rows[i].point);
    return table;
}

struct table *row_launch_table(const struct store_file *file)
{
    static struct table_column columns[sizeof row_launch_columns / sizeof *row_launch_columns];
    for (size_t i = 0; i < row_launch_column_count; i++)
        columns[i] = row_launch_columns[i].column;
    struct table *table = table_new(columns, row_launch_column_count);
    for (size_t i = 0; i < file->count; i++) {
        const struct store_point_read *point = &file->points[i];
        for (size_t launch = 0; launch < point->launch_count && row_is_finished(point); launch++) {
            struct row_launch facts;
            row_launch_get(file, point, launch, &facts);
            put_row(table, row_launch_columns, row_launch_column_count, &facts, point);
        }
    }
    return table;
}
