#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "base/options.h"
#include "cmd/cmd.h"
#include "data/datadir.h"
#include "kernels/kernel.h"

#ifdef HAVE_CUDA
#include "bench/validate.h"
#endif

struct validate_options {
    int64_t device;
    const char *kernel, *output, *datadir;
    bool quick;
};

#ifdef HAVE_CUDA
static int validate(const struct validate_options *o)
{
    struct validate run = {
        .ordinal = (int)o->device, .kernel = o->kernel, .quick = o->quick, .summary = stdout};
    int code;

    if (o->output) {
        run.lines = fopen(o->output, "w");
        if (!run.lines)
            return fail_set(FAIL_DATA, "%s: %s", o->output, strerror(errno));
    }
    code = validate_run(&run);
    if (run.lines && fclose(run.lines) != 0 && code == FAIL_OK)
        code = fail_set(FAIL_DATA, "%s: %s", o->output, strerror(errno));
    if (code == FAIL_OK || code == FAIL_WRONG)
        printf("%zu passed, %zu failed, %zu unsupported\n", run.passed, run.failed,
               run.unsupported);
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
    datadir_set(o.datadir);
    return validate(&o);
}
