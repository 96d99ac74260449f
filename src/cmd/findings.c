#include "cmd/findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/row.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"

enum { MOST_KERNELS = 8 };

struct findings {
    const struct row *rows;
    size_t count;
    const char *kernels[MOST_KERNELS]; /* in order of appearance */
    size_t kernel_count;
    struct table_column *columns;
    struct text *headings;
    size_t column_count;
};

static const char *kernel_of(const struct row *row)
{
    return row->point->axis[AXIS_KERNEL] ? row->point->axis[AXIS_KERNEL] : "";
}

/* The key after "kernel=NAME", without the blank. */
static const char *case_of(const struct row *row)
{
    const char *rest = strchr(row->key, ' ');

    return rest ? rest + 1 : "";
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

    text_addf(&findings->headings[i], "%s", a);
    text_addf(&findings->headings[i], format, b);
    findings->columns[i] = (struct table_column){
        .name = findings->headings[i].bytes, .kind = kind, .decimals = decimals};
}

/* case, then a time each, a ratio for each pair of neighbours, busy SMs each */
static void make_columns(struct findings *findings)
{
    size_t most = 3 * MOST_KERNELS;

    findings->columns = mem_new(most, sizeof *findings->columns);
    findings->headings = mem_new(most, sizeof *findings->headings);
    for (size_t i = 0; i < most; i++)
        findings->headings[i] = (struct text)TEXT_INIT;
    add_column(findings, TABLE_WORD, 0, "%s", "", "case");
    for (size_t k = 0; k < findings->kernel_count; k++)
        add_column(findings, TABLE_REAL, 1, "%s", findings->kernels[k], " us");
    for (size_t k = 1; k < findings->kernel_count; k++)
        add_column(findings, TABLE_REAL, 2, "/%s", findings->kernels[k - 1], findings->kernels[k]);
    for (size_t k = 0; k < findings->kernel_count; k++)
        add_column(findings, TABLE_REAL, 1, "%s", findings->kernels[k], " busy");
}

static const struct row *find_row(const struct findings *findings, const char *wanted,
                                  const char *kernel)
{
    for (size_t i = 0; i < findings->count; i++)
        if (strcmp(case_of(&findings->rows[i]), wanted) == 0 &&
            strcmp(kernel_of(&findings->rows[i]), kernel) == 0)
            return &findings->rows[i];
    return NULL;
}

static void add_case(const struct findings *findings, struct table *table, const char *name)
{
    size_t n = findings->kernel_count;
    double before = (double)NAN;

    table_row(table);
    table_word(table, 0, *name ? name : "(defaults)");
    for (size_t k = 0; k < n; k++) {
        const struct row *row = find_row(findings, name, findings->kernels[k]);
        double step_us = row ? row->step_us : (double)NAN;

        table_real(table, 1 + k, step_us);
        if (k > 0)
            table_real(table, n + k, before / step_us);
        if (row)
            table_real(table, 2 * n + k, row->busy_sms);
        before = step_us;
    }
}

static struct table *make_table(const struct findings *findings)
{
    struct table *table = table_new(findings->columns, findings->column_count);

    for (size_t i = 0; i < findings->count; i++) {
        bool seen = false;

        for (size_t j = 0; j < i && !seen; j++)
            seen = strcmp(case_of(&findings->rows[j]), case_of(&findings->rows[i])) == 0;
        if (!seen)
            add_case(findings, table, case_of(&findings->rows[i]));
    }
    return table;
}

static void print_heading(const struct findings *findings, const struct store_file *file, FILE *out)
{
    const struct row *first = &findings->rows[0];
    bool modelled = first->source && strcmp(first->source, "model") == 0;

    fprintf(out, "%s, %lld SMs: step time of one layer's attention in us, %s\n", file->run.device,
            (long long)file->run.sm_count,
            modelled ? "MODELLED, not measured" : "measured by device events");
    fprintf(out, "(a/b: how many times faster b is than a; busy: SMs at work, %s)\n\n",
            first->counter_source ? first->counter_source : "not measured");
}

/* How many points ended how, unless all are ok; then the reasons. */
static void print_statuses(const struct store_file *file, FILE *out)
{
    for (size_t i = 0; i < file->count; i++) {
        const struct store_point_read *point = &file->points[i];

        if (point->status != STORE_OK)
            fprintf(out, "%s: %s%s%s\n", store_status_name(point->status), point->key,
                    point->reason ? ": " : "", point->reason ? point->reason : "");
    }
}

int findings_print(const struct store_file *file, FILE *out)
{
    struct findings findings = {0};
    struct row *rows = NULL;
    struct table *table;
    int code = 0;

    findings.count = row_from_file(file, &rows);
    findings.rows = rows;
    if (findings.count > 0) {
        find_kernels(&findings);
        make_columns(&findings);
        table = make_table(&findings);
        print_heading(&findings, file, out);
        code = table_write(table, TABLE_TEXT, out);
        table_free(table);
        for (size_t i = 0; i < findings.column_count; i++)
            text_free(&findings.headings[i]);
        free(findings.columns);
        free(findings.headings);
    }
    print_statuses(file, out);
    row_free(rows);
    return code;
}
