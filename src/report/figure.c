#include "report/figure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/log.h"
#include "data/datadir.h"
#include "data/gpuspec.h"
#include "report/gnuplot.h"

#define COLUMN(name)                      \
    {                                     \
#name, offsetof(struct row, name) \
    }

const struct figure figure_list[] = {
    {"throughput", "Decode throughput", AXIS_CONCURRENCY, {COLUMN(tokens_per_s)}, 1},
    {"occupancy",
     "SM occupancy",
     AXIS_BATCH,
     {COLUMN(achieved_occupancy_pct), COLUMN(theoretical_occupancy_pct)},
     2},
    {"fill", "SM fill", AXIS_BATCH, {COLUMN(busy_sms), COLUMN(sm_fill_pct)}, 2},
    {"gpu-time",
     "GPU time of a step by kernel",
     AXIS_BATCH,
     {COLUMN(main_us), COLUMN(combine_us), COLUMN(step_us)},
     1},
    {"reread", "KV re-read factor", AXIS_BATCH, {COLUMN(kv_reread_x)}, 1},
};
const size_t figure_count = sizeof figure_list / sizeof *figure_list;

struct drawing {
    const struct figure *figure;
    const char *folder;
    struct text script, data, title, sm_count;
    const char *mark;
    bool *png; /* whether gnuplot has pngcairo; cleared by the first refusal */
};

static bool attention_only(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].point->layers > 1 || rows[i].point->rest_us > 0)
            return false;
    return true;
}

static void make_title(struct drawing *d, const struct store_file *file, const struct row *rows,
                       size_t count)
{
    const char *device = file->run.device ? file->run.device : "?";
    const char *model = gpuspec_model_name(device);

    if (model) {
        device = model;
        d->mark = "MODEL";
    }
    text_addf(&d->title, "%s%s%s, %s, %lld SMs", *d->mark ? "MODEL: " : "", d->figure->summary,
              attention_only(rows, count) ? ", attention-only" : "", device,
              (long long)file->run.sm_count);
    text_make_plain(&d->title, '?');
    text_addf(&d->sm_count, "%lld", (long long)file->run.sm_count);
}

/* A file in memory that gnuplot, too, can open by its path: there is none to be left behind when
 * either of the two is interrupted.  -1: none. */
static int memory_file(struct text *path)
{
    int fd = memfd_create("smscope", 0); /* inherited */

    if (fd < 0)
        (void)fail_set(FAIL_ENV, "cannot make a file in memory: %s", strerror(errno));
    text_addf(path, "/proc/self/fd/%d", fd);
    return fd;
}

/* Draws into memory and writes the finished picture to the folder. */
static int draw_as(struct drawing *d, const char *terminal, const char *suffix)
{
    struct text out = TEXT_INIT, target = TEXT_INIT, message = TEXT_INIT, picture = TEXT_INIT;
    int fd = memory_file(&out), code = fd < 0 ? FAIL_ENV : FAIL_OK;

    text_addf(&target, "%s/%s%s", d->folder, d->figure->name, suffix);
    const char *const arguments[] = {d->script.bytes, d->data.bytes, out.bytes,         terminal,
                                     d->title.bytes,  d->mark,       d->sm_count.bytes, NULL};
    if (code == FAIL_OK)
        code = gnuplot_run(arguments, &message);
    if (code == FAIL_OK)
        code = text_read_file(&picture, out.bytes);
    if (code != FAIL_OK && strcmp(suffix, ".png") == 0 && strstr(message.bytes, "terminal type")) {
        log_warn("this gnuplot cannot write PNG (no pngcairo terminal); SVG only");
        *d->png = false;
        code = FAIL_OK;
    } else if (code == FAIL_OK && picture.length == 0) {
        code = fail_set(FAIL_ENV, "gnuplot wrote an empty %s%s", d->figure->name, suffix);
    } else if (code == FAIL_OK) {
        code = text_write_file(target.bytes, picture.bytes, picture.length);
    }
    if (fd >= 0)
        close(fd);
    text_free(&out);
    text_free(&target);
    text_free(&message);
    text_free(&picture);
    return code;
}

static int draw_data(struct drawing *d, const struct text *tsv)
{
    int fd = -1, code = datadir_find(&d->script, "plots", d->figure->name, ".gp");

    if (code == FAIL_OK) {
        fd = memory_file(&d->data);
        code = fd < 0 ? FAIL_ENV : text_write_file(d->data.bytes, tsv->bytes, tsv->length);
    }
    if (code == FAIL_OK)
        code = draw_as(d, "svg", ".svg");
    if (code == FAIL_OK && *d->png)
        code = draw_as(d, "pngcairo", ".png");
    if (fd >= 0)
        close(fd);
    return code;
}

static int draw_figure(const struct figure *figure, const struct store_file *file,
                       const struct row *rows, size_t count, const char *folder, bool *png,
                       size_t *drawn)
{
    struct drawing d = {.figure = figure,
                        .folder = folder,
                        .script = TEXT_INIT,
                        .data = TEXT_INIT,
                        .title = TEXT_INIT,
                        .sm_count = TEXT_INIT,
                        .mark = "",
                        .png = png};
    struct text tsv = TEXT_INIT;
    size_t modelled;
    int code = FAIL_OK;

    if (figure_data(figure, rows, count, &tsv, &modelled) == 0) {
        log_warn("%s: no point has the numbers for it, not drawn", figure->name);
    } else {
        d.mark = modelled > 0 ? "MODEL" : "";
        make_title(&d, file, rows, count);
        code = draw_data(&d, &tsv);
        *drawn += code == FAIL_OK;
    }
    text_free(&tsv);
    text_free(&d.script);
    text_free(&d.data);
    text_free(&d.title);
    text_free(&d.sm_count);
    return code;
}

static bool is_named(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static int check_names(const char *const *names, size_t count)
{
    struct text known = TEXT_INIT;
    int code = FAIL_OK;

    for (size_t f = 0; f < figure_count; f++)
        text_addf(&known, "%s%s", f ? ", " : "", figure_list[f].name);
    for (size_t i = 0; i < count && code == FAIL_OK; i++) {
        size_t f = 0;

        while (f < figure_count && strcmp(figure_list[f].name, names[i]) != 0)
            f++;
        if (f == figure_count)
            code = fail_set(FAIL_USAGE, "no figure '%s' (%s)", names[i], known.bytes);
    }
    text_free(&known);
    return code;
}

int figure_draw(const struct store_file *file, const char *const *names, size_t name_count,
                const char *folder, size_t *drawn)
{
    struct row *rows = NULL;
    size_t count = 0;
    bool png = true;
    int code = check_names(names, name_count);

    *drawn = 0;
    if (code != FAIL_OK)
        return code;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        code = fail_set(FAIL_DATA, "cannot make folder %s: %s", folder, strerror(errno));
    if (code == FAIL_OK)
        count = row_from_file(file, &rows);
    for (size_t f = 0; f < figure_count && code == FAIL_OK; f++)
        if (name_count == 0 || is_named(figure_list[f].name, names, name_count))
            code = draw_figure(&figure_list[f], file, rows, count, folder, &png, drawn);
    row_free(rows);
    return code;
}
