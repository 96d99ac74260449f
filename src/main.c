#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "cmd/cmd.h"
#include "config.h"

struct command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"sweep", "measure kernels over axes into a run file", cmd_sweep},
    {"validate", "compare the kernels with the reference on hard data", cmd_validate},
    {"plot", "draw the figures of a run file", cmd_plot},
    {"export", "write a run file as CSV, JSON or Markdown", cmd_export},
    {"list", "list kernels, workloads, devices, axes or columns", cmd_list},
    {"doctor", "check what this machine can measure, with remedies", cmd_doctor},
};
static const size_t command_count = sizeof commands / sizeof *commands;

static void print_help(FILE *out)
{
    fprintf(
        out,
        "usage: smscope COMMAND [OPTION ...]\n\n"
        "Profiles and benchmarks sparse-MLA decode kernels on a GPU, or models them on one you do not have.\n\n");
    for (size_t i = 0; i < command_count; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(
        out,
        "\n`smscope COMMAND --help` tells a command's options.  smscope --version tells the version.\n");
}

/* Exit code of a command's result; its message, if it has one, on stderr. */
static int finish(int result)
{
    bool written = fflush(stdout) == 0 && !ferror(stdout);

    if (result >= 0 && !written)
        result = fail_set(FAIL_DATA, "standard output: %s", strerror(errno));
    if (result < 0)
        fprintf(stderr, "smscope: %s\n", fail_text());
    return result < 0 ? fail_exit_code(result) : result;
}

static int run(int argc, char **argv)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(argv[0], commands[i].name) == 0)
            return commands[i].run(argc, argv);
    return fail_set(FAIL_USAGE, "no such command: '%s' (smscope --help lists them)", argv[0]);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return fail_exit_code(FAIL_USAGE);
    }
    if (strcmp(argv[1], "help") == 0 && argc == 3)
        return finish(run(2, (char *[]){argv[2], (char[]){"--help"}, NULL}));
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return finish(FAIL_OK);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("smscope %s\n", PACKAGE_VERSION);
        return finish(FAIL_OK);
    }
    return finish(run(argc - 1, argv + 1));
}
