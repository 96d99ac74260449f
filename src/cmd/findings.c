#include "cmd/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/drifted.h"
#include "analysis/groups.h"
#include "analysis/measured.h"
#include "analysis/row.h"
#include "base/text.h"
#include "data/axis.h"

enum { MOST_KERNELS = 8, MOST_COLUMNS = AXIS_COUNT + 4 * MOST_KERNELS };

struct findings {
    const struct row *rows;
    size_t count;
    const char *kernels[MOST_KERNELS]; /* in order of appearance */
    size_t kernel_count;
    struct groups groups;
    struct table_column columns[MOST_COLUMNS];
    struct text headings[MOST_COLUMNS];
    size_t column_count;
};

static const char *kernel_of(const struct row *row)
{
    return row->point->axis[AXIS_KERNEL] ? row->point->axis[AXIS_KERNEL] : "";
}

static void find_kernels(struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        size_t k = 0;

        while (k < findings->kernel_count &&
               strcmp(findings->kernels[k], kernel_of(&findings->rows[i])) != 0)
            k++;
        if (k == findings->kernel_count && k < MOST_KERNELS)
            findings->kernels[findings->kernel_count++] = kernel_of(&findings->rows[i]);
    }
}

static void add_column(struct findings *findings, enum table_kind kind, int decimals,
                       const char *format, const char *a, const char *b)
{
    size_t i = findings->column_count++;

    findings->headings[i] = (struct text)TEXT_INIT;
    text_addf(&findings->headings[i], "%s", a);
    text_addf(&findings->headings[i], format, b);
    findings->columns[i] = (struct table_column){
        .name = findings->headings[i].bytes, .kind = kind, .decimals = decimals};
}

/* The axes, then a time each, a ratio for each pair of neighbours, busy SMs and bound each. */
static void make_columns(struct findings *findings)
{
    for (size_t a = 0; a < findings->groups.axis_count; a++) {
        const struct axis_info *info = axis_info(findings->groups.axes[a]);

        add_column(findings, info->least <= info->most ? TABLE_INT : TABLE_WORD, 0, "%s", "",
                   info->name);
    }
    for (size_t k = 0; k < findings->kernel_count; k++)
        add_column(findings, TABLE_REAL, 1, "%s", findings->kernels[k], " us");
    for (size_t k = 1; k < findings->kernel_count; k++)
        add_column(findings, TABLE_REAL, 2, "/%s", findings->kernels[k - 1], findings->kernels[k]);
    for (size_t k = 0; k < findings->kernel_count; k++)
        add_column(findings, TABLE_REAL, 1, "%s", findings->kernels[k], " busy");
    for (size_t k = 0; k < findings->kernel_count; k++)
        add_column(findings, TABLE_WORD, 0, "%s", findings->kernels[k], " bound");
}

static const struct row *find_row(const struct findings *findings, const char *wanted,
                                  const char *kernel)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(groups_name(&findings->rows[i]), wanted) == 0 &&
            strcmp(kernel_of(&findings->rows[i]), kernel) == 0)
            return &findings->rows[i];
    return NULL;
}

/* "L2 30 %", with an asterisk where that roof is assumed. */
static void put_bound(struct table *table, size_t column, const struct row *row)
{
    static const char *const shown[][2] = {{"fma", "FMA"}, {"l2", "L2"}, {"dram", "DRAM"}};
    const char *name = row->bound;
    struct text cell = TEXT_INIT;

    if (!name)
        return;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (strcmp(row->bound, shown[i][0]) == 0)
            name = shown[i][1];
    text_addf(&cell, "%s ", name);
    text_add_fixed(&cell, row->pct_of_bound, row->pct_of_bound < 9.95 ? 1 : 0);
    text_addf(&cell, " %%%s", strstr(row->assumed_roofs, row->bound) ? "*" : "");
    table_word(table, column, cell.bytes);
    text_free(&cell);
}

static void put_axes(const struct findings *findings, struct table *table, const struct row *row)
{
    struct text value = TEXT_INIT;
    int64_t number;

    for (size_t a = 0; a < findings->groups.axis_count; a++) {
        groups_show_axis(row, findings->groups.axes[a], &value);
        if (text_to_int(value.bytes, &number))
            table_int(table, a, number);
        else
            table_word(table, a, value.bytes);
    }
    text_free(&value);
}

static void add_group(const struct findings *findings, struct table *table, const struct row *first)
{
    size_t n = findings->kernel_count, at = findings->groups.axis_count;
    double before = (double)NAN;

    table_row(table);
    put_axes(findings, table, first);
    for (size_t k = 0; k < n; k++) {
        const struct row *row = find_row(findings, groups_name(first), findings->kernels[k]);
        double step_us = row ? row->step_us : (double)NAN;

        table_real(table, at + k, step_us);
        if (k > 0)
            table_real(table, at + n + k - 1, before / step_us);
        if (row) {
            table_real(table, at + 2 * n - 1 + k, row->busy_sms);
            put_bound(table, at + 3 * n - 1 + k, row);
        }
        before = step_us;
    }
}

/* ---- around it ---- */

/* The first row that has times or, where none has, the first. */
static const struct row *row_with_times(const struct findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        if (findings->rows[i].source)
            return &findings->rows[i];
    return &findings->rows[0];
}

static const char *where_from(const struct row *row)
{
    return !row->source                        ? "no point has one"
           : strcmp(row->source, "model") == 0 ? "MODELLED, not measured"
                                               : "measured by device events";
}

static void print_line(struct text *line, FILE *out)
{
    text_make_plain(line, '?');
    fprintf(out, "%s\n", line->bytes);
    text_clear(line);
}

static void print_heading(const struct findings *findings, const struct store_file *file, FILE *out)
{
    const struct row *told = row_with_times(findings);
    struct text line = TEXT_INIT;

    text_addf(&line, "%s, %lld SMs: step time of one layer's attention in us, %s", file->run.device,
              (long long)file->run.sm_count, where_from(told));
    print_line(&line, out);
    text_addf(&line, "(a/b: how many times faster b is than a; busy: SMs at work, %s;",
              told->counter_source ? told->counter_source : "not measured");
    print_line(&line, out);
    text_add(&line, "bound: the nearest roof of FMA or tensor peak, L2, DRAM, and the share of it "
                    "that the step reaches");
    if (*told->assumed_roofs)
        text_addf(&line, "; *assumed: %s", told->assumed_roofs);
    text_add(&line, ")");
    print_line(&line, out);
    fputc('\n', out);
    text_free(&line);
}

static void add_drift(struct text *line, const struct store_file *file)
{
    struct drifted drifted;

    drifted_find(&drifted, file);
    drifted_add_text(line, &drifted);
}

/* What the run says of itself. */
static void print_footer(const struct store_file *file, FILE *out)
{
    static void (*const lines[])(struct text * line, const struct store_file *file) = {
        measured_add_roofs, measured_add_trace_overhead, add_drift};
    struct text line = TEXT_INIT;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        lines[i](&line, file);
        if (line.length > 0)
            print_line(&line, out);
    }
    text_free(&line);
}

/* Every finished point that is not ok, with the reason; how many were not measured. */
static void print_statuses(const struct store_file *file, const char *bullet, FILE *out)
{
    struct text line = TEXT_INIT;
    size_t left = 0;

    for (size_t i = 0; i < file->count; i++) {
        const struct store_point_read *point = &file->points[i];

        left += !row_is_finished(point);
        if (point->status == STORE_OK || !row_is_finished(point))
            continue;
        text_addf(&line, "%s%s: %s%s%s", bullet, store_status_name(point->status), point->key,
                  point->reason ? ": " : "", point->reason ? point->reason : "");
        print_line(&line, out);
    }
    if (left > 0) {
        text_addf(&line, "%s%zu of %zu points are not measured yet", bullet, left, file->count);
        print_line(&line, out);
    }
    text_free(&line);
}

static int print_table(struct findings *findings, enum table_format format, FILE *out)
{
    struct table *table;
    int code;

    make_columns(findings);
    table = table_new(findings->columns, findings->column_count);
    for (size_t c = 0; c < findings->groups.count; c++)
        add_group(findings, table, findings->groups.first[c]);
    code = table_write(table, format, out);
    table_free(table);
    for (size_t i = 0; i < findings->column_count; i++)
        text_free(&findings->headings[i]);
    return code;
}

int findings_print(const struct store_file *file, enum table_format format, FILE *out)
{
    bool for_people = format == TABLE_TEXT || format == TABLE_MARKDOWN;
    struct findings findings = {0};
    struct row *rows = NULL;
    int code = 0;

    findings.count = row_from_file(file, &rows);
    findings.rows = rows;
    find_kernels(&findings);
    groups_find(&findings.groups, rows, findings.count);
    if (findings.count > 0 && for_people)
        print_heading(&findings, file, out);
    if (findings.count > 0 || !for_people)
        code = print_table(&findings, format, out);
    if (for_people)
        print_footer(file, out);
    if (for_people)
        print_statuses(file, format == TABLE_MARKDOWN ? "- " : "", out);
    groups_free(&findings.groups);
    row_free(rows);
    return code;
}
