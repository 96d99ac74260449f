#include <stdio.h>
#include <stdlib.h>

#include "analysis/row.h"
#include "analysis/select.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/options.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/findings.h"
#include "data/store.h"

struct export_options {
    bool csv, json, markdown, launches, findings, meta, quiet;
    struct option_list axes;
    const char *output;
};

static int parse(struct export_options *o, int argc, char **argv, const char **path, bool *help)
{
    const struct option options[] = {
        {0, "csv", NULL, "comma-separated values (the default)", OPTION_FLAG, &o->csv},
        {0, "json", NULL, "an array of objects", OPTION_FLAG, &o->json},
        {0, "markdown", NULL, "a Markdown table", OPTION_FLAG, &o->markdown},
        {0, "launches", NULL, "a row a distinct launch instead of a row a point", OPTION_FLAG,
         &o->launches},
        {0, "findings", NULL,
         "a row for the points that differ in their kernel alone, as a sweep prints it (default format: text)",
         OPTION_FLAG, &o->findings},
        {'a', "axis", "NAME=ITEMS",
         "only points with one of these values, as asked for or as used; may be repeated",
         OPTION_LIST, &o->axes},
        {0, "meta", NULL, "lines key=value about the run instead of its points", OPTION_FLAG,
         &o->meta},
        {'o', "output", "FILE", "write to FILE instead of stdout", OPTION_TEXT, &o->output},
        {'q', "quiet", NULL, "no notes", OPTION_FLAG, &o->quiet},
    };
    const struct option_usage usage = {
        .synopsis =
            "smscope export RUN.db [--csv|--json|--markdown] [--launches|--findings] [-a NAME=ITEMS ...] [-o FILE]",
        .summary = "Writes a run file as a table: a row a point with all its numbers, or a row a "
                   "launch (`smscope list columns` explains the columns).",
        .options = options,
        .count = sizeof options / sizeof *options,
    };
    int operands;
    int code = options_parse(&usage, argc, argv, &operands, help);
    if (code != FAIL_OK)
        return code;
    if (*help) {
        options_print_help(&usage, stdout);
        return FAIL_OK;
    }
    if (operands != 1)
        return fail_set(FAIL_USAGE, "export takes one run file: smscope export RUN.db");
    if (o->csv + o->json + o->markdown + o->meta > 1)
        return fail_set(FAIL_USAGE, "--csv, --json, --markdown and --meta exclude each other");
    if (o->meta + o->launches + o->findings > 1)
        return fail_set(FAIL_USAGE, "--meta, --launches and --findings exclude each other");
    *path = argv[1];
    return FAIL_OK;
}

/* Values are one line: what would break it is written as a space. */
static void add_line(struct text *out, const char *key, const char *value)
{
    text_addf(out, "%s=", key);
    for (; *value; value++) {
        char byte = *value == '\n' || *value == '\r' ? ' ' : *value;
        text_add_bytes(out, &byte, 1);
    }
    text_add(out, "\n");
}

static void add_count(struct text *out, const char *key, size_t count)
{
    text_addf(out, "%s=%zu\n", key, count);
}

static void compose_meta(const struct store_file *file, struct text *out)
{
    static const enum store_status shown[] = {STORE_RUNNING, STORE_OK,       STORE_SKIPPED,
                                              STORE_FAILED,  STORE_INVALID,  STORE_MISMATCH,
                                              STORE_TIMEOUT, STORE_THROTTLED};
    const struct store_run *run = &file->run;
    size_t counts[STORE_THROTTLED + 1] = {0};
    for (size_t i = 0; i < file->count; i++)
        counts[file->points[i].status]++;
    add_line(out, "started_at", run->started_at);
    add_line(out, "command", run->command);
    text_addf(out, "seed=%lld\n", (long long)run->seed);
    add_line(out, "version", run->version);
    add_line(out, "kernels_hash", run->kernels_hash);
    add_line(out, "device", run->device);
    add_line(out, "uuid", run->uuid);
    add_line(out, "cc", run->cc);
    text_addf(out, "sm_count=%lld\n", (long long)run->sm_count);
    add_line(out, "driver", run->driver);
    add_line(out, "cuda", run->cuda);
    add_line(out, "cupti", run->cupti);
    add_count(out, "points", file->count);
    add_count(out, "finished", file->count - counts[STORE_PENDING] - counts[STORE_RUNNING]);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        add_count(out, store_status_name(shown[i]), counts[shown[i]]);
}

static enum table_format format_of(const struct export_options *o)
{
    return o->json                  ? TABLE_JSON
           : o->markdown            ? TABLE_MARKDOWN
           : o->findings && !o->csv ? TABLE_TEXT
                                    : TABLE_CSV;
}

static int write_table(const struct export_options *o, const struct store_file *file, FILE *out)
{
    struct row *rows = NULL;
    size_t count = row_from_file(file, &rows);
    struct table *table = o->launches ? row_launch_table(file) : row_table(rows, count);
    int code = table_write(table, format_of(o), out);

    table_free(table);
    row_free(rows);
    return code;
}

static void tell_unfinished(const struct store_file *file)
{
    size_t unfinished = 0;

    for (size_t i = 0; i < file->count; i++)
        unfinished += !row_is_finished(&file->points[i]);
    if (unfinished > 0)
        log_info("%zu of %zu points are not finished and left out", unfinished, file->count);
}

static int compose_table(const struct export_options *o, const struct store_file *file,
                         struct text *out)
{
    char *bytes = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&bytes, &length);
    int code;

    if (!stream)
        return fail_set(FAIL_ENV, "out of memory");
    code = o->findings ? findings_print(file, format_of(o), stream) : write_table(o, file, stream);
    fclose(stream);
    if (code == FAIL_OK)
        text_add_bytes(out, bytes, length);
    tell_unfinished(file);
    free(bytes);
    return code;
}

static int write_out(const struct export_options *o, const struct text *bytes)
{
    if (o->output)
        return text_write_file(o->output, bytes->bytes, bytes->length);
    fputs(bytes->bytes, stdout); /* main() tells of a full disk */
    return FAIL_OK;
}

int cmd_export(int argc, char **argv)
{
    struct export_options o = {0};
    struct store_file file = {0};
    struct text out = TEXT_INIT;
    const char *path = NULL;
    bool help = false;
    int code = parse(&o, argc, argv, &path, &help);
    if (code != FAIL_OK || help)
        goto out;
    log_set_quiet(o.quiet);
    if (o.output && store_is_run(o.output))
        code = fail_set(FAIL_USAGE, "%s is a run file; export does not replace one", o.output);
    if (code == FAIL_OK)
        code = store_read(&file, path);
    if (code == FAIL_OK)
        code = select_points(&file, o.axes.items, o.axes.count);
    if (code == FAIL_OK && o.meta)
        compose_meta(&file, &out);
    else if (code == FAIL_OK)
        code = compose_table(&o, &file, &out);
    if (code == FAIL_OK)
        code = write_out(&o, &out);
out:
    store_file_free(&file);
    options_free_list(&o.axes);
    text_free(&out);
    return code;
}
