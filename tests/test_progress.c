#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/log.h"
#include "base/progress.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int real_stderr;
static int other_end; /* where to read what went to stderr */
static char said[4096];

/* Until stderr_back(), stderr is fd. */
static void stderr_to(int fd, int reader)
{
    real_stderr = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    close(fd);
    other_end = reader;
}

/*
 * Puts stderr back; what was written meanwhile is in `said`.  The writing end is closed first, so
 * that reading ends only when all has come through.
 */
static void stderr_back(void)
{
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    size_t length = 0;
    ssize_t got;
    while ((got = read(other_end, said + length, sizeof said - 1 - length)) > 0)
        length += (size_t)got;
    said[length] = '\0';
    close(other_end);
}

static void stderr_to_pipe(void)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    stderr_to(ends[1], ends[0]);
}

static void stderr_to_terminal(unsigned short columns)
{
    struct winsize size = {.ws_row = 25, .ws_col = columns};
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0);
    assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
    stderr_to(terminal, master);
}

static void run_two(const char *first, const char *second)
{
    struct progress progress;
    progress_start(&progress, 2);
    progress_label(&progress, first);
    progress_step(&progress, second);
    progress_step(&progress, "");
    progress_end(&progress);
}

static void pipe_sees_nothing(void **state)
{
    (void)state;
    stderr_to_pipe();
    run_two("a", "b");
    stderr_back();
    assert_string_equal(said, "");
}

static void dumb_terminal_sees_nothing(void **state)
{
    (void)state;
    setenv("TERM", "dumb", 1);
    stderr_to_terminal(80);
    run_two("a", "b");
    stderr_back();
    setenv("TERM", "xterm", 1);
    assert_string_equal(said, "");
}

static void quiet_sees_nothing(void **state)
{
    (void)state;
    log_set_quiet(true);
    stderr_to_terminal(80);
    run_two("a", "b");
    log_info("nor this");
    log_warn("but this");
    stderr_back();
    log_set_quiet(false);
    assert_string_equal(said, "smscope: warning: but this\r\n");
}

static void terminal_sees_the_bar(void **state)
{
    (void)state;
    struct progress progress;
    stderr_to_terminal(80);
    progress_start(&progress, 1);
    progress_label(&progress, "kernel=simt");
    progress_step(&progress, "report");
    progress_end(&progress);
    stderr_back();
    assert_string_equal(said, "\r\033[K[....................] 0/1  "
                              "\r\033[K[....................] 0/1  kernel=simt"
                              "\r\033[K[####################] 1/1  report"
                              "\r\033[K");
}

/* A busy machine may add a little to each. */
static void tells_the_time_left(void **state)
{
    (void)state;
    struct progress progress;
    stderr_to_terminal(80);
    progress_start(&progress, 4);
    progress.started_s -= 10; /* as if the first one had taken 10 s: 30 are left */
    progress_step(&progress, "");
    progress.started_s -= 90; /* 100 s for two, as many to come */
    progress_step(&progress, "");
    progress.started_s -= 21500; /* 21,600 s for three, 7,200 to come */
    progress_step(&progress, "");
    progress_end(&progress);
    stderr_back();
    long seconds = 0;
    long minutes = 0;
    const char *first = strstr(said, "[#####...............] 1/4");
    const char *second = strstr(said, "[##########..........] 2/4");
    assert_non_null(first);
    assert_non_null(second);
    assert_int_equal(sscanf(first, "%*s 1/4  %ld s left", &seconds), 1);
    assert_in_range(seconds, 30, 45);
    assert_int_equal(sscanf(second, "%*s 2/4  %ld min %ld s left", &minutes, &seconds), 2);
    assert_in_range(60 * minutes + seconds, 100, 115);
    assert_non_null(strstr(said, "[###############.....] 3/4  2 h 00 min left"));
}

/* A line as long as the terminal is wide would wrap, and could not be wiped any more. */
static void fits_the_terminal(void **state)
{
    (void)state;
    stderr_to_terminal(40);
    run_two("a-label-\xc3\xa4\xc3\xa4", "");
    stderr_back();
    assert_non_null(strstr(said, "] 0/2  a-label-\xc3\xa4\r"));
    stderr_to_terminal(10);
    run_two("label", "");
    stderr_back();
    assert_null(strstr(said, "label"));
}

static void lines_wipe_the_bar(void **state)
{
    (void)state;
    struct progress progress;
    stderr_to_terminal(80);
    progress_start(&progress, 1);
    log_warn("point %d", 3);
    log_info("next");
    progress_end(&progress);
    log_info("last");
    stderr_back();
    assert_string_equal(said, "\r\033[K[....................] 0/1  "
                              "\r\033[Ksmscope: warning: point 3\r\n"
                              "smscope: next\r\n"
                              "\r\033[Ksmscope: last\r\n");
}

static void warns_once(void **state)
{
    (void)state;
    stderr_to_pipe();
    for (int i = 0; i < 4; i++)
        log_warn_once("counters are refused on device %d", i % 2);
    log_warn("again");
    log_warn("again");
    stderr_back();
    assert_string_equal(said, "smscope: warning: counters are refused on device 0\n"
                              "smscope: warning: counters are refused on device 1\n"
                              "smscope: warning: again\n"
                              "smscope: warning: again\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipe_sees_nothing),   cmocka_unit_test(dumb_terminal_sees_nothing),
        cmocka_unit_test(quiet_sees_nothing),  cmocka_unit_test(terminal_sees_the_bar),
        cmocka_unit_test(tells_the_time_left), cmocka_unit_test(fits_the_terminal),
        cmocka_unit_test(lines_wipe_the_bar),  cmocka_unit_test(warns_once),
    };
    setenv("TERM", "xterm", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
