#include "base/progress.h"

#include "base/log.h"
#include "base/steady.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static size_t terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

static void add_time_left(struct text *out, const struct progress *progress)
{
    if (progress->done == 0 || progress->done >= progress->total)
        return;
    double each_s = (steady_now_s() - progress->started_s) / (double)progress->done;
    long left_s = (long)(each_s * (double)(progress->total - progress->done) + 0.5);
    if (left_s < 60)
        text_addf(out, "  %ld s left", left_s);
    else if (left_s < 3600)
        text_addf(out, "  %ld min %02ld s left", left_s / 60, left_s % 60);
    else
        text_addf(out, "  %ld h %02ld min left", left_s / 3600, left_s / 60 % 60);
}

/* As much of label as fits on the line, whole UTF-8 characters only. */
static void add_label(struct text *out, const char *label)
{
    size_t columns = terminal_columns();
    if (out->length + 3 >= columns)
        return;
    size_t length = strnlen(label, columns - out->length - 3);
    while (length > 0 && (label[length] & 0xc0) == 0x80)
        length--;
    text_add(out, "  ");
    text_add_bytes(out, label, length);
}

static void draw(const struct progress *progress, const char *label)
{
    if (!progress->shown)
        return;
    enum { BAR = 20 };
    size_t filled = progress->total > 0 ? BAR * progress->done / progress->total : BAR;
    struct text line = TEXT_INIT;
    text_add(&line, "[");
    for (size_t i = 0; i < BAR; i++)
        text_add(&line, i < filled ? "#" : ".");
    text_addf(&line, "] %zu/%zu", progress->done, progress->total);
    add_time_left(&line, progress);
    add_label(&line, label);
    fprintf(stderr, "\r\033[K%s", line.bytes);
    log_bar_shown(true);
    text_free(&line);
}

void progress_start(struct progress *progress, size_t total)
{
    const char *terminal = getenv("TERM");
    *progress = (struct progress){.total = total, .started_s = steady_now_s()};
    progress->shown = isatty(STDERR_FILENO) && !log_is_quiet() && terminal != NULL &&
                      strcmp(terminal, "dumb") != 0;
    draw(progress, "");
}

void progress_step(struct progress *progress, const char *label)
{
    progress->done++;
    draw(progress, label);
}

void progress_label(struct progress *progress, const char *label)
{
    draw(progress, label);
}

void progress_end(struct progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = 0;
    log_bar_shown(false);
}
