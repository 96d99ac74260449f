#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/row.h"
#include "base/fail.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/options.h"
#include "bench/resume.h"
#include "bench/sampling.h"
#include "bench/sweep.h"
#include "bench/target.h"
#include "cmd/cmd.h"
#include "cmd/findings.h"
#include "data/datadir.h"
#include "data/gpuspec.h"
#include "data/point.h"
#include "data/store.h"
#include "data/workload.h"

/* A point on a device with these kernels takes about this long: timed replays,
 * tracing, counters, reference. */
static const double point_cost_s = 0.7;

struct sweep_options {
    const char *device, *workload, *output, *datadir, *samples;
    struct option_list axes;
    int64_t seed;
    double point_limit_s, budget_s;
    struct pass_settings settings;
    bool dry_run, quiet, no_counters, if_changed, resume;
    struct option_list given;
};

static int parse(struct sweep_options *o, int argc, char **argv, bool *help)
{
    const struct option options[] = {
        {'d', "device", "DEVICE", "GPU ordinal, or model:NAME (default 0; `smscope list devices`)",
         OPTION_TEXT, &o->device},
        {'w', "workload", "NAME",
         "workloads/NAME.ini, or a path (default: `default`, or one section of axis defaults when -a is given)",
         OPTION_TEXT, &o->workload},
        {'a', "axis", "NAME=ITEMS",
         "values of an axis, instead of the workload's (`smscope list axes`); may be repeated",
         OPTION_LIST, &o->axes},
        {'o', "output", "RUN.db", "run file to write (default: smscope-DEVICE-TIME.db)",
         OPTION_TEXT, &o->output},
        {0, "resume", NULL,
         "go on with RUN.db: measure the points it lacks, and those that -w and -a add to it",
         OPTION_FLAG, &o->resume},
        {0, "seed", "N", "seed of data, indices and lengths (default 1)", OPTION_INT, &o->seed},
        {0, "samples", "LEAST[:MOST]",
         "timed replays a point (default 30:1000; one number: exactly so many)", OPTION_TEXT,
         &o->samples},
        {0, "ci", "PERCENT",
         "sampling ends once the 95 % interval of the median lies within this of it (default 0.5)",
         OPTION_REAL, &o->settings.ci_pct},
        {0, "timing-seconds", "SECONDS",
         "a point's warm-up and samples end after this (default 1.5)", OPTION_REAL,
         &o->settings.timing_s},
        {0, "point-limit", "SECONDS", "a point that takes longer is ended (default 120)",
         OPTION_REAL, &o->point_limit_s},
        {0, "budget", "SECONDS",
         "begin no point after this; --resume measures those that were not reached (default: no end)",
         OPTION_REAL, &o->budget_s},
        {0, "no-counters", NULL, "leave out the hardware counters", OPTION_FLAG, &o->no_counters},
        {0, "if-changed", NULL,
         "keep RUN.db if it is a finished run of this device, workload and kernels; else replace it",
         OPTION_FLAG, &o->if_changed},
        {0, "dry-run", NULL, "print the keys of the points and what they cost, and stop",
         OPTION_FLAG, &o->dry_run},
        {0, "datadir", "DIR", "folder of devices/, workloads/ and plots/", OPTION_TEXT,
         &o->datadir},
        {'q', "quiet", NULL, "no progress, no notes", OPTION_FLAG, &o->quiet},
    };
    const struct option_usage usage = {
        .synopsis =
            "smscope sweep [-d DEVICE] [-w WORKLOAD] [-a NAME=ITEMS ...] [-o RUN.db] [--resume [RUN.db]]",
        .summary =
            "Runs every point of a workload through the passes (check, time, trace, count; or the model) into a run file, and prints the findings.",
        .options = options,
        .count = sizeof options / sizeof *options,
    };
    int operands, code = options_parse_given(&usage, argc, argv, &operands, help, &o->given);

    if (code != FAIL_OK)
        return code;
    if (*help)
        options_print_help(&usage, stdout);
    else if (operands == 1 && o->resume && !o->output)
        o->output = argv[1];
    else if (operands > 0)
        return fail_set(FAIL_USAGE, "sweep takes no operand: '%s'", argv[operands]);
    return FAIL_OK;
}

/* The findings would go over the run. */
static bool is_stdout(const char *path)
{
    struct stat named, out;

    return stat(path, &named) == 0 && fstat(STDOUT_FILENO, &out) == 0 && S_ISREG(out.st_mode) &&
           named.st_dev == out.st_dev && named.st_ino == out.st_ino;
}

/* LEAST, or LEAST:MOST. */
static int read_samples(const char *given, struct pass_settings *settings)
{
    char *least = mem_strdup(given), *colon = strchr(least, ':');
    const char *most = colon ? colon + 1 : least;
    bool good;

    if (colon)
        *colon = '\0';
    good = text_to_int(least, &settings->samples_least) &&
           text_to_int(most, &settings->samples_most) &&
           settings->samples_least >= SAMPLING_FEWEST &&
           settings->samples_most >= settings->samples_least && settings->samples_most <= 100000;
    free(least);
    if (good)
        return FAIL_OK;
    return fail_set(FAIL_USAGE,
                    "--samples is LEAST or LEAST:MOST, 6 to 100000 each (a 95 %% interval of the "
                    "median needs 6), not '%s'",
                    given);
}

static int check_options(const struct sweep_options *o)
{
    if (!(o->settings.ci_pct > 0) || o->settings.ci_pct > 100)
        return fail_set(FAIL_USAGE, "--ci is more than 0 and at most 100 percent");
    if (!(o->settings.timing_s > 0))
        return fail_set(FAIL_USAGE, "--timing-seconds is more than 0 seconds");
    if (!(o->point_limit_s > 0))
        return fail_set(FAIL_USAGE, "--point-limit is more than 0 seconds");
    if (!(o->budget_s > 0) && options_is_given(&o->given, "budget"))
        return fail_set(FAIL_USAGE, "--budget is more than 0 seconds");
    if (o->seed < 0)
        return fail_set(FAIL_USAGE, "--seed is not negative");
    if (o->if_changed && !o->output)
        return fail_set(FAIL_USAGE, "--if-changed needs -o RUN.db");
    if (o->resume && !o->output)
        return fail_set(FAIL_USAGE, "--resume needs the run file: sweep --resume RUN.db");
    if (o->output && is_stdout(o->output))
        return fail_set(FAIL_USAGE, "%s is standard output, where the findings go", o->output);
    if (o->resume && o->if_changed)
        return fail_set(FAIL_USAGE, "--resume and --if-changed exclude each other");
    return FAIL_OK;
}

static int load_points(const struct sweep_options *o, struct workload *workload,
                       struct point_list *points)
{
    struct point_kernel *kernels;
    size_t count;
    int code;

    if (o->resume && !o->workload && o->axes.count == 0)
        return FAIL_OK; /* the run's own */
    if (o->workload || o->axes.count == 0)
        code = workload_read(workload, o->workload ? o->workload : "default");
    else
        code = workload_from_axes(workload);
    for (size_t i = 0; code == FAIL_OK && i < o->axes.count; i++)
        code = workload_override(workload, o->axes.items[i]);
    if (code != FAIL_OK)
        return code;
    kernels = sweep_kernels(&count);
    code = point_expand(points, workload, kernels, count);
    free(kernels);
    return code;
}

static bool is_left(const struct resume *resume, size_t ord)
{
    return ord >= resume->file.count || resume->file.points[ord].status == STORE_PENDING ||
           resume->file.points[ord].status == STORE_RUNNING;
}

/* The points that would be measured. */
static int dry_run(const struct sweep *sweep, const struct resume *resume)
{
    size_t left = sweep->points->count - sweep->done;

    for (size_t i = 0; i < sweep->points->count; i++)
        if (is_left(resume, i))
            puts(sweep->points->points[i].key);
    if (gpuspec_model_name(sweep->device))
        log_info("%zu points, modelled in well under a minute", left);
    else
        log_info("%zu points, about %.0f s on a device (estimate)", left,
                 5 + point_cost_s * (double)left);
    return FAIL_OK;
}

/* Looks at the run file before the device is touched; takes up the run in it where that is asked
 * for. */
static int look_at_output(const struct sweep_options *o, struct sweep *sweep, struct resume *resume)
{
    bool asked = o->workload || o->axes.count > 0, has_run = false;
    int code = o->output ? store_look(o->output, &has_run) : FAIL_OK;

    if (code != FAIL_OK)
        return code;
    if (!has_run && o->resume && !asked)
        return fail_set(FAIL_DATA, "%s holds no run to go on with (-w or -a start one)", o->output);
    if (!has_run || o->if_changed)
        return FAIL_OK;
    if (!o->resume)
        return fail_set(FAIL_USAGE,
                        "%s holds a run already; go on with it by --resume, or name another file",
                        o->output);
    code = resume_take_up(resume, sweep, &o->given);
    if (code == FAIL_OK)
        log_info("%s has %zu points, %zu are left to measure", o->output, sweep->points->count,
                 sweep->points->count - sweep->done);
    return code;
}

/* Exit code of the contract: 5 before 4 before 6. */
static int judge(const struct store_file *file)
{
    size_t ok = 0, wrong = 0, bad = 0;

    for (size_t i = 0; i < file->count; i++)
        switch (file->points[i].status) {
        case STORE_OK:
            ok++;
            break;
        case STORE_MISMATCH:
            wrong++;
            break;
        case STORE_SKIPPED:
            break;
        case STORE_PENDING:
        case STORE_RUNNING:
        case STORE_FAILED:
        case STORE_INVALID:
        case STORE_TIMEOUT:
        case STORE_THROTTLED:
            bad++;
            break;
        }
    if (wrong > 0)
        return fail_exit_code(FAIL_WRONG);
    if (bad > 0)
        return fail_exit_code(FAIL_DATA);
    return ok > 0 ? 0 : fail_exit_code(FAIL_NOTHING);
}

/* A sweep that was not stopped leaves points only because its budget was over. */
static void tell_left(const struct store_file *file, const char *path)
{
    size_t left = 0;

    for (size_t i = 0; i < file->count; i++)
        left += !row_is_finished(&file->points[i]);
    if (left > 0)
        log_warn(
            "the budget was over with %zu of %zu points not measured; go on with: smscope sweep "
            "--resume %s",
            left, file->count, path);
}

static int report(const char *path)
{
    struct store_file file;
    int code = store_read(&file, path);

    if (code != FAIL_OK)
        return code;
    tell_left(&file, path);
    code = findings_print(&file, TABLE_TEXT, stdout);
    if (code == FAIL_OK)
        code = CMD_QUIET(judge(&file));
    store_file_free(&file);
    return code;
}

/* The sweep, then what it found. */
static int run(struct sweep *sweep)
{
    int code = sweep_run(sweep);

    if (code == FAIL_OK && sweep->kept)
        log_info("%s is current: same device, workload and kernels", sweep->path.bytes);
    else if (sweep->path.length > 0 && (code == FAIL_OK || sweep->signal))
        log_info("%s holds the run", sweep->path.bytes);
    if (code == FAIL_OK && !sweep->signal)
        code = report(sweep->path.bytes);
    return code;
}

static int prepare_and_run(const struct sweep_options *o, const struct workload *workload,
                           const struct point_list *points, int argc, char **argv)
{
    struct sweep sweep = {
        .device = o->device,
        .workload = workload,
        .points = points,
        .command = TEXT_INIT,
        .path = TEXT_INIT,
        .seed = (uint64_t)o->seed,
        .settings = o->settings,
        .point_limit_s = o->point_limit_s,
        .budget_s = o->budget_s,
        .if_changed = o->if_changed,
    };
    struct resume resume = {0};
    int code;

    text_add(&sweep.command, "smscope");
    for (int i = 0; i < argc; i++)
        text_addf(&sweep.command, " %s", argv[i]);
    if (o->output)
        text_add(&sweep.path, o->output);
    code = look_at_output(o, &sweep, &resume);
    if (code == FAIL_OK)
        code = target_check_name(sweep.device);
    if (code == FAIL_OK)
        code = o->dry_run ? dry_run(&sweep, &resume) : run(&sweep);
    text_free(&sweep.command);
    text_free(&sweep.path);
    resume_free(&resume);
    if (sweep.signal) { /* ends as the signal would have: 128 + n to a shell */
        fflush(NULL);
        signal(sweep.signal, SIG_DFL);
        raise(sweep.signal);
    }
    return code;
}

int cmd_sweep(int argc, char **argv)
{
    struct sweep_options o = {
        .device = "0",
        .seed = 1,
        .samples = "30:1000",
        .point_limit_s = 120,
        .settings = {.ci_pct = 0.5, .timing_s = 1.5},
    };
    struct workload workload = {0};
    struct point_list points = {0};
    char **words = mem_new((size_t)argc, sizeof *words); /* options_parse() moves argv's */
    bool help = false;
    int code;

    memcpy(words, argv, (size_t)argc * sizeof *words);
    code = parse(&o, argc, argv, &help);
    if (code != FAIL_OK || help)
        goto out;
    log_set_quiet(o.quiet);
    datadir_set(o.datadir);
    o.settings.counters = !o.no_counters;
    code = read_samples(o.samples, &o.settings);
    if (code == FAIL_OK)
        code = check_options(&o);
    if (code == FAIL_OK)
        code = load_points(&o, &workload, &points);
    if (code == FAIL_OK)
        code = prepare_and_run(&o, &workload, &points, argc, words);
out:
    point_free(&points);
    workload_free(&workload);
    options_free_list(&o.axes);
    options_free_list(&o.given);
    free(words);
    return code;
}
