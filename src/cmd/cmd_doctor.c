#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/options.h"
#include "base/table.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "config.h"
#include "data/datadir.h"
#include "gpu/doctor.h" /* its types; its functions only with CUDA */
#include "report/gnuplot.h"

#ifdef HAVE_CUDA
#include "gpu/cupti.h"
#endif

static const double small_disk_gb = 0.1;

/* The checks so far. */
struct sheet {
    struct table *table;
    struct text remedies; /* one line each */
    bool failed;
};

static const struct table_column columns[] = {{"check", NULL, TABLE_WORD, 0},
                                              {"verdict", NULL, TABLE_WORD, 0},
                                              {"found", NULL, TABLE_WORD, 0}};

static void add(void *user, const char *check, enum doctor_verdict verdict, const char *found,
                const char *remedy)
{
    static const char *const words[] = {
        [DOCTOR_OK] = "ok", [DOCTOR_OFF] = "off", [DOCTOR_WARN] = "warn", [DOCTOR_FAIL] = "fail"};
    struct sheet *sheet = user;

    table_row(sheet->table);
    table_word(sheet->table, 0, check);
    table_word(sheet->table, 1, words[verdict]);
    table_word(sheet->table, 2, found);
    if (remedy[0])
        text_addf(&sheet->remedies, "  %s: %s\n", check, remedy);
    sheet->failed |= verdict == DOCTOR_FAIL;
}

static void check_build(struct sheet *sheet)
{
#ifdef HAVE_CUDA
    struct text found = TEXT_INIT;
    int release = cupti_cuda_release(cupti_header_version());

    text_addf(&found, "%s %s with CUDA for %s", PACKAGE_NAME, PACKAGE_VERSION, CUDA_ARCHS);
    if (release > 0)
        text_addf(&found, ", CUPTI headers of CUDA %d.%d", release / 100, release % 100);
#ifndef HAVE_CUPTI_RANGE
    add(sheet, "program", DOCTOR_WARN, found.bytes,
        "built without CUPTI's range profiler: no counters, no occupancy; build with CUDA 12.6 or newer");
#else
    add(sheet, "program", DOCTOR_OK, found.bytes, "");
#endif
    text_free(&found);
#else
    add(sheet, "program", DOCTOR_OFF, PACKAGE_NAME " " PACKAGE_VERSION " without CUDA",
        "to measure on a GPU, install the CUDA toolkit (nvcc), configure and build again");
#endif
}

/* Returns whether model devices and workloads are there. */
static bool check_data(struct sheet *sheet)
{
    struct text found = TEXT_INIT;
    bool usable = true;

    for (int kind = 0; kind < 2 && usable; kind++) {
        const char *name = kind == 0 ? "devices" : "workloads";
        char **names = NULL;
        size_t count = 0;

        usable = datadir_list(name, ".ini", &names, &count) == FAIL_OK;
        text_addf(&found, "%s%zu %s", kind ? ", " : "", count, name);
        for (size_t i = 0; i < count; i++)
            free(names[i]);
        free(names);
    }
    if (usable)
        add(sheet, "data folder", DOCTOR_OK, found.bytes, "");
    else
        add(sheet, "data folder", DOCTOR_FAIL, "missing", fail_text());
    text_free(&found);
    return usable;
}

/* What a program writes to stdout and stderr; false when it cannot be run or fails. */
static bool read_program(const char *const argv[], struct text *output)
{
    posix_spawn_file_actions_t actions;
    char chunk[4096];
    ssize_t got;
    pid_t child;
    int ends[2], status = -1, error;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    error = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    while (error == 0 && (got = read(ends[0], chunk, sizeof chunk)) != 0) {
        if (got > 0)
            text_add_bytes(output, chunk, (size_t)got);
        else if (errno != EINTR)
            break;
    }
    close(ends[0]);
    while (error == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return error == 0 && status == 0;
}

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = text; (at = strstr(at, word)) != NULL; at += length)
        if ((at == text || strchr(" \n", at[-1])) && (!at[length] || strchr(" \n", at[length])))
            return true;
    return false;
}

static void check_gnuplot(struct sheet *sheet)
{
    const char *const argv[] = {gnuplot_program(), "-e",
                                "print GPVAL_VERSION, \" \", GPVAL_TERMINALS", NULL};
    struct text output = TEXT_INIT, found = TEXT_INIT;

    if (!read_program(argv, &output)) {
        add(sheet, "gnuplot", DOCTOR_WARN, output.length ? "fails" : "missing",
            output.length ? output.bytes : "`smscope plot` needs it: apt-get install gnuplot-nox");
    } else {
        bool svg = has_word(output.bytes, "svg"), png = has_word(output.bytes, "pngcairo");

        text_addf(&found, "%.*s, svg %s, pngcairo %s", (int)strcspn(output.bytes, " \n"),
                  output.bytes, svg ? "yes" : "no", png ? "yes" : "no");
        add(sheet, "gnuplot", svg && png ? DOCTOR_OK : DOCTOR_WARN, found.bytes,
            svg && png
                ? ""
                : "figures need the terminals svg and pngcairo: apt-get install gnuplot-nox");
    }
    text_free(&output);
    text_free(&found);
}

static void check_disk(struct sheet *sheet)
{
    struct statvfs disk;
    struct text found = TEXT_INIT;

    if (statvfs(".", &disk) != 0) {
        add(sheet, "current folder", DOCTOR_WARN, strerror(errno), "give -o a path elsewhere");
        return;
    }
    double free_gb = (double)disk.f_bavail * (double)disk.f_frsize / 1e9;
    bool writable = access(".", W_OK) == 0;

    text_addf(&found, "%.1f GB free%s", free_gb, writable ? "" : ", not writable");
    if (writable && free_gb >= small_disk_gb)
        add(sheet, "current folder", DOCTOR_OK, found.bytes, "");
    else
        add(sheet, "current folder", DOCTOR_WARN, found.bytes,
            "run files are written here unless -o names a path elsewhere");
    text_free(&found);
}

static void conclude(const struct sheet *sheet, bool gpu, int ordinal, bool models)
{
    if (sheet->remedies.length > 0)
        printf("\nWhat to do:\n%s", sheet->remedies.bytes);
    if (gpu)
        printf("\nSweeps run on GPU %d%s.\n", ordinal, models ? " and on model devices" : "");
    else if (models)
        printf(
            "\nSweeps run on model devices: smscope sweep -d model:rtx-pro-6000 (more: smscope list "
            "devices).\n");
    else
        printf("\nNo sweep can run here.\n");
}

/* device: NULL when none was asked for. */
static int examine(const char *device, int64_t ordinal)
{
    struct sheet sheet = {.table = table_new(columns, sizeof columns / sizeof *columns),
                          .remedies = TEXT_INIT};
    bool gpu = false, models;
    int code;

    check_build(&sheet);
    models = check_data(&sheet);
#ifdef HAVE_CUDA
    gpu = doctor_gpu((int)ordinal, device != NULL, add, &sheet);
#else
    if (device)
        add(&sheet, "GPU", DOCTOR_FAIL, "none", "this program was built without CUDA");
#endif
    check_gnuplot(&sheet);
    check_disk(&sheet);
    code = table_write(sheet.table, TABLE_TEXT, stdout);
    conclude(&sheet, gpu, (int)ordinal, models);
    if (code == FAIL_OK && (!models || (device && sheet.failed)))
        code = CMD_QUIET(fail_exit_code(FAIL_ENV));
    table_free(sheet.table);
    text_free(&sheet.remedies);
    return code;
}

int cmd_doctor(int argc, char **argv)
{
    const char *device = NULL, *datadir = NULL;
    const struct option options[] = {
        {'d', "device", "N", "GPU that has to work: exit 3 if anything it needs is missing",
         OPTION_TEXT, &device},
        {0, "datadir", "DIR", "folder of devices/, workloads/ and plots/", OPTION_TEXT, &datadir}};
    const struct option_usage usage = {
        .synopsis = "smscope doctor [-d N]",
        .summary =
            "Checks what this machine can measure and says what to do about the rest. Without -d it looks "
            "at GPU 0 and ends with 0 if sweeps can run at all, if only on model devices.",
        .options = options,
        .count = sizeof options / sizeof *options};
    int64_t ordinal = 0;
    bool help = false;
    int operands, code = options_parse(&usage, argc, argv, &operands, &help);

    if (code != FAIL_OK)
        return code;
    if (help) {
        options_print_help(&usage, stdout);
        return FAIL_OK;
    }
    if (operands > 0)
        return fail_set(FAIL_USAGE, "doctor takes no operand: '%s'", argv[1]);
    if (device && (!text_to_int(device, &ordinal) || ordinal < 0 || ordinal > 1023))
        return fail_set(FAIL_USAGE,
                        "-d takes the number of a GPU, not '%s' (model devices always work)",
                        device);
    datadir_set(datadir);
    return examine(device, ordinal);
}
