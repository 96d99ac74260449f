#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/options.h"
#include "cmd/cmd.h"
#include "data/datadir.h"
#include "data/store.h"
#include "kernels/kernel.h"

#ifdef HAVE_CUDA
#include "base/text.h"
#include "bench/validate.h"
#endif

struct validate_options {
    int64_t device;
    const char *kernel, *output, *datadir;
    bool quick;
};

#ifdef HAVE_CUDA
/* The lines stay in memory until the end, so that a file is replaced only by a whole one. */
static int validate(const struct validate_options *o)
{
    struct validate run = {
        .ordinal = (int)o->device, .kernel = o->kernel, .quick = o->quick, .summary = stdout};
    char *lines = NULL;
    size_t length = 0;
    int code;

    if (o->output)
        run.lines = open_memstream(&lines, &length);
    code = validate_run(&run);
    if (code == FAIL_OK || code == FAIL_WRONG)
        printf("%zu passed, %zu failed, %zu unsupported\n", run.passed, run.failed,
               run.unsupported);
    if (run.lines && fclose(run.lines) == 0 && length > 0) {
        int written = text_write_file(o->output, lines, length);

        code = code == FAIL_OK ? written : code;
    }
    free(lines);
    return code;
}
#else
static int validate(const struct validate_options *o)
{
    (void)o;
    return fail_set(FAIL_ENV,
                    "validate runs the kernels on a GPU; this smscope was built without CUDA");
}
#endif

int cmd_validate(int argc, char **argv)
{
    struct validate_options o = {0};
    bool help;
    const struct option options[] = {
        {'d', "device", "N", "GPU ordinal (default 0)", OPTION_INT, &o.device},
        {'k', "kernel", "NAME", "only this kernel", OPTION_TEXT, &o.kernel},
        {0, "quick", NULL, "a small subset of the cases", OPTION_FLAG, &o.quick},
        {'o', "output", "FILE", "write every case there, one a line", OPTION_TEXT, &o.output},
        {0, "datadir", "DIR", "folder of devices/, workloads/ and plots/", OPTION_TEXT, &o.datadir},
    };
    const struct option_usage usage = {
        "smscope validate [-d N] [--quick] [-o FILE]",
        "Runs every kernel on soft, peaked, steep and hard data and compares each result with a "
        "double-precision reference; exit 5 when one differs.",
        options, sizeof options / sizeof *options};
    int operands, code = options_parse(&usage, argc, argv, &operands, &help);

    if (code != FAIL_OK)
        return code;
    if (help) {
        options_print_help(&usage, stdout);
        return FAIL_OK;
    }
    if (operands > 0)
        return fail_set(FAIL_USAGE, "validate takes no operand: '%s'", argv[1]);
    if (o.device < 0 || o.device > 1023)
        return fail_set(FAIL_USAGE, "no such device: %lld", (long long)o.device);
    if (o.kernel && !kernel_exists(o.kernel))
        return fail_set(FAIL_USAGE, "no such kernel: '%s' (smscope list kernels)", o.kernel);
    if (o.output && store_is_run(o.output))
        return fail_set(FAIL_USAGE, "%s is a run file; validate does not replace one", o.output);
    datadir_set(o.datadir);
    return validate(&o);
}
