#include "base/log.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_ROOM = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool quiet;
static bool bar_shown;
static char **said;
static size_t said_count;

void log_set_quiet(bool value)
{
    quiet = value;
}

bool log_is_quiet(void)
{
    return quiet;
}

void log_bar_shown(bool shown)
{
    pthread_mutex_lock(&lock);
    bar_shown = shown;
    pthread_mutex_unlock(&lock);
}

/* One write a line, so that lines of several processes on one terminal do not
 * mix.  Needs the lock. */
static void print_line(const char *label, const char *line)
{
    fprintf(stderr, "%ssmscope: %s%s\n", bar_shown ? "\r\033[K" : "", label, line);
    bar_shown = false;
}

void log_info(const char *format, ...)
{
    if (quiet)
        return;
    char line[LINE_ROOM];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&lock);
    print_line("", line);
    pthread_mutex_unlock(&lock);
}

void log_warn(const char *format, ...)
{
    char line[LINE_ROOM];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&lock);
    print_line("warning: ", line);
    pthread_mutex_unlock(&lock);
}

/* Whether line is new to this process; remembers it.  Needs the lock. */
static bool first_time(const char *line)
{
    for (size_t i = 0; i < said_count; i++)
        if (strcmp(said[i], line) == 0)
            return false;
    said = mem_resize(said, said_count + 1, sizeof *said);
    said[said_count++] = mem_strdup(line);
    return true;
}

void log_warn_once(const char *format, ...)
{
    char line[LINE_ROOM];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&lock);
    if (first_time(line))
        print_line("warning: ", line);
    pthread_mutex_unlock(&lock);
}
