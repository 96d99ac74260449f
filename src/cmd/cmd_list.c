#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/row.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/options.h"
#include "base/table.h"
#include "bench/sweep.h"
#include "cmd/cmd.h"
#include "config.h"
#include "data/axis.h"
#include "data/datadir.h"
#include "data/gpuspec.h"
#include "data/workload.h"
#include "kernels/kernel.h"

#ifdef HAVE_CUDA
#include "gpu/device.h"
#endif

static struct table *list_kernels(void)
{
    static const struct table_column columns[] = {{"kernel", NULL, TABLE_WORD, 0},
                                                  {"variant", NULL, TABLE_WORD, 0},
                                                  {"runs here", NULL, TABLE_WORD, 0},
                                                  {"summary", NULL, TABLE_WORD, 0}};
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);

    for (size_t i = 0; i < kernel_count; i++) {
        table_row(table);
        table_word(table, 0, kernel_table[i]->name);
        table_word(table, 1, kernel_table[i]->variant);
        table_word(table, 2, kernel_table[i]->launch ? "device, model" : "model");
        table_word(table, 3, kernel_table[i]->summary);
    }
    return table;
}

static void add_gpus(struct table *table)
{
#ifdef HAVE_CUDA
    const char *why = NULL;
    int count = device_count(&why);

    for (int i = 0; i < count; i++) {
        struct device device;
        char ordinal[16];

        if (device_open(&device, i) != FAIL_OK) {
            log_warn("%s", fail_text());
            continue;
        }
        snprintf(ordinal, sizeof ordinal, "%d", i);
        table_row(table);
        table_word(table, 0, ordinal);
        table_word(table, 1, device.spec.name);
        table_real(table, 2, device.spec.cc_major + device.spec.cc_minor / 10.0);
        table_int(table, 3, device.spec.sm_count);
        table_real(table, 4, device.spec.mem_bw_gbs);
        device_close(&device);
    }
    if (count == 0)
        log_info("no GPU here: %s", why);
#else
    (void)table;
    log_info("no GPU here: built without CUDA");
#endif
}

static int list_devices(struct table **result)
{
    static const struct table_column columns[] = {{"device", NULL, TABLE_WORD, 0},
                                                  {"name", NULL, TABLE_WORD, 0},
                                                  {"cc", NULL, TABLE_REAL, 1},
                                                  {"sm_count", "SMs", TABLE_INT, 0},
                                                  {"mem_bw_gbs", "GB/s", TABLE_REAL, 0}};
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    char **names = NULL;
    size_t count = 0;
    int code;

    code = datadir_list("devices", ".ini", &names, &count);
    if (code == FAIL_OK)
        add_gpus(table);
    for (size_t i = 0; i < count; i++) {
        struct gpuspec spec;
        struct text label = TEXT_INIT;

        if (code == FAIL_OK)
            code = gpuspec_read(&spec, names[i], NULL);
        if (code == FAIL_OK) {
            text_addf(&label, GPUSPEC_MODEL_PREFIX "%s", names[i]);
            table_row(table);
            table_word(table, 0, label.bytes);
            table_word(table, 1, spec.name);
            table_real(table, 2, spec.cc_major + spec.cc_minor / 10.0);
            table_int(table, 3, spec.sm_count);
            table_real(table, 4, spec.mem_bw_gbs);
        }
        text_free(&label);
        free(names[i]);
    }
    free(names);
    *result = table;
    return code;
}

static int list_workloads(struct table **result)
{
    static const struct table_column columns[] = {{"workload", NULL, TABLE_WORD, 0},
                                                  {"section", NULL, TABLE_WORD, 0},
                                                  {"points", NULL, TABLE_INT, 0}};
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);
    size_t count = 0, kernels_n;
    struct point_kernel *kernels = sweep_kernels(&kernels_n);
    char **names = NULL;
    int code = datadir_list("workloads", ".ini", &names, &count);

    for (size_t i = 0; i < count; i++) {
        struct workload workload = {0};
        struct point_list points = {0};

        if (code == FAIL_OK)
            code = workload_read(&workload, names[i]);
        if (code == FAIL_OK)
            code = point_expand(&points, &workload, kernels, kernels_n);
        for (size_t s = 0; code == FAIL_OK && s < workload.count; s++) {
            int64_t in_section = 0;

            for (size_t p = 0; p < points.count; p++)
                in_section += strcmp(points.points[p].section, workload.sections[s].name) == 0;
            table_row(table);
            table_word(table, 0, names[i]);
            table_word(table, 1, workload.sections[s].name);
            table_int(table, 2, in_section);
        }
        point_free(&points);
        workload_free(&workload);
        free(names[i]);
    }
    free(names);
    free(kernels);
    *result = table;
    return code;
}

static struct table *list_axes(void)
{
    static const struct table_column columns[] = {
        {"axis", NULL, TABLE_WORD, 0},  {"default", NULL, TABLE_WORD, 0},
        {"words", NULL, TABLE_WORD, 0}, {"least", NULL, TABLE_INT, 0},
        {"most", NULL, TABLE_INT, 0},   {"help", NULL, TABLE_WORD, 0}};
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);

    for (int id = 0; id < AXIS_COUNT; id++) {
        const struct axis_info *info = axis_info((enum axis_id)id);

        table_row(table);
        table_word(table, 0, info->name);
        table_word(table, 1, info->fallback);
        table_word(table, 2, strcmp(info->words, "*") == 0 ? "a name" : info->words);
        if (info->least <= info->most) {
            table_int(table, 3, info->least);
            table_int(table, 4, info->most);
        }
        table_word(table, 5, info->help);
    }
    return table;
}

static void add_columns(struct table *table, const char *row, const struct row_column *columns,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        table_row(table);
        table_word(table, 0, row);
        table_word(table, 1, columns[i].column.name);
        table_word(table, 2, columns[i].derivation);
    }
}

static struct table *list_columns(void)
{
    static const struct table_column columns[] = {{"row", NULL, TABLE_WORD, 0},
                                                  {"column", NULL, TABLE_WORD, 0},
                                                  {"derivation", NULL, TABLE_WORD, 0}};
    struct table *table = table_new(columns, sizeof columns / sizeof *columns);

    add_columns(table, "point", row_columns, row_column_count);
    add_columns(table, "launch", row_launch_columns, row_launch_column_count);
    return table;
}

static int make_table(const char *what, struct table **table)
{
    if (strcmp(what, "kernels") == 0)
        *table = list_kernels();
    else if (strcmp(what, "axes") == 0)
        *table = list_axes();
    else if (strcmp(what, "columns") == 0)
        *table = list_columns();
    else if (strcmp(what, "devices") == 0)
        return list_devices(table);
    else if (strcmp(what, "workloads") == 0)
        return list_workloads(table);
    else
        return fail_set(FAIL_USAGE, "list kernels, workloads, devices, axes or columns, not '%s'",
                        what);
    return FAIL_OK;
}

int cmd_list(int argc, char **argv)
{
    const char *datadir = NULL;
    bool csv = false, json = false, help;
    const struct option options[] = {
        {0, "csv", NULL, "as CSV", OPTION_FLAG, &csv},
        {0, "json", NULL, "as JSON", OPTION_FLAG, &json},
        {0, "datadir", "DIR", "folder of devices/, workloads/ and plots/", OPTION_TEXT, &datadir},
    };
    const struct option_usage usage = {
        "smscope list kernels|workloads|devices|axes|columns [--csv|--json]",
        "Lists what a sweep can be made of, and what the columns of its CSV mean.", options,
        sizeof options / sizeof *options};
    struct table *table = NULL;
    int operands, code = options_parse(&usage, argc, argv, &operands, &help);

    if (code != FAIL_OK)
        return code;
    if (help) {
        options_print_help(&usage, stdout);
        return FAIL_OK;
    }
    if (operands != 1)
        return fail_set(FAIL_USAGE, "list takes one of kernels, workloads, devices, axes, columns");
    if (csv && json)
        return fail_set(FAIL_USAGE, "--csv and --json exclude each other");
    datadir_set(datadir);
    code = make_table(argv[1], &table);
    if (code == FAIL_OK)
        code = table_write(table, json ? TABLE_JSON : csv ? TABLE_CSV : TABLE_TEXT, stdout);
    table_free(table);
    return code;
}
