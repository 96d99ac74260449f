#include <stdbool.h>
#include <stdio.h>

#include "base/fail.h"
#include "base/log.h"
#include "base/options.h"
#include "cmd/cmd.h"
#include "data/datadir.h"
#include "data/store.h"
#include "report/figure.h"

static int plot(const char *path, const struct option_list *figures, const char *folder)
{
    struct store_file file = {0};
    size_t drawn = 0;
    int code = store_read(&file, path);

    if (code != FAIL_OK)
        return code;
    code = figure_draw(&file, figures->items, figures->count, folder, &drawn);
    if (code == FAIL_OK)
        log_info("%zu figure%s drawn into %s", drawn, drawn == 1 ? "" : "s", folder);
    store_file_free(&file);
    return code;
}

int cmd_plot(int argc, char **argv)
{
    const char *folder = ".", *datadir = NULL;
    struct option_list figures = {0};
    bool quiet = false, help;
    const struct option options[] = {
        {'o', "output", "DIR", "folder for the figures, made if missing (default: here)",
         OPTION_TEXT, &folder},
        {0, "figure", "NAME",
         "only this figure (throughput, occupancy, fill, gpu-time, reread); may be repeated",
         OPTION_LIST, &figures},
        {0, "datadir", "DIR", "folder of devices/, workloads/ and plots/", OPTION_TEXT, &datadir},
        {'q', "quiet", NULL, "no notes", OPTION_FLAG, &quiet},
    };
    const struct option_usage usage = {
        "smscope plot RUN.db [-o DIR] [--figure NAME ...]",
        "Draws the figures of a run file through gnuplot, as SVG and PNG.", options,
        sizeof options / sizeof *options};
    int operands, code = options_parse(&usage, argc, argv, &operands, &help);

    if (code == FAIL_OK && help) {
        options_print_help(&usage, stdout);
    } else if (code == FAIL_OK && operands != 1) {
        code = fail_set(FAIL_USAGE, "plot takes one run file");
    } else if (code == FAIL_OK) {
        log_set_quiet(quiet);
        datadir_set(datadir);
        code = plot(argv[1], &figures, folder);
    }
    options_free_list(&figures);
    return code;
}
