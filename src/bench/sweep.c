#include "bench/sweep.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/steady.h"
#include "bench/worker.h"
#include "data/store.h"
#include "kernels/kernel.h"

/* Opening the device, measuring nothing yet: driver start, pool and reference data. */
static const double start_limit_s = 120;

static volatile sig_atomic_t caught_signal;
static volatile pid_t child_pid; /* 0: none */

/* The first one asks for an end, the second one does not wait for it: not even for a child that the
 * driver holds. */
static void catch_signal(int number)
{
    if (caught_signal) {
        if (child_pid > 0)
            kill(child_pid, SIGKILL);
        signal(number, SIG_DFL);
        raise(number);
    }
    caught_signal = number;
}

struct child {
    pid_t pid;
    int pipe;            /* read end */
    struct text pending; /* bytes of an unfinished line */
    bool opened;
    bool kept;
    bool asked_to_stop;
    bool finished; /* all points; what may still come is the look for drift */
    long point;    /* in flight, -1: none */
    size_t begun;  /* points */
    int code;      /* what an F line said */
    bool timed_out;
    int status; /* waitpid's */
};

struct point_kernel *sweep_kernels(size_t *count)
{
    struct point_kernel *kernels = mem_new(kernel_count, sizeof *kernels);

    for (size_t i = 0; i < kernel_count; i++)
        kernels[i] = (struct point_kernel){kernel_table[i]->name, kernel_table[i]->axes};
    *count = kernel_count;
    return kernels;
}

/* Never returns in the child. */
static int start_child(struct child *child, const struct sweep *sweep, bool resume)
{
    pid_t parent = getpid();
    int ends[2];

    *child = (struct child){.pid = -1, .pipe = -1, .pending = TEXT_INIT, .point = -1};
    if (pipe(ends) != 0)
        return fail_set(FAIL_ENV, "pipe: %s", strerror(errno));
    fflush(NULL);
    child_pid = child->pid = fork();
    if (child->pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return fail_set(FAIL_ENV, "fork: %s", strerror(errno));
    }
    if (child->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a killed sweep leaves no child on the GPU */
        if (getppid() != parent)          /* it was killed before that */
            _exit(1);
        signal(SIGINT, SIG_IGN); /* the parent decides */
        signal(SIGTERM, worker_stop);
        close(ends[0]);
        exit(worker_run(sweep, resume, ends[1]));
    }
    close(ends[1]);
    child->pipe = ends[0];
    return FAIL_OK;
}

static void hear_line(struct child *child, struct sweep *sweep, struct progress *progress,
                      const char *line)
{
    const char *rest = line + 2;

    switch (line[0]) {
    case 'O':
        child->opened = true;
        text_clear(&sweep->path);
        text_add(&sweep->path, rest);
        break;
    case 'K':
        child->kept = true;
        break;
    case 'D':
        child->finished = true;
        progress_label(progress, "timing the first point again");
        break;
    case 'B':
        child->point = strtol(rest, NULL, 10);
        child->begun++;
        progress_label(progress, sweep->points->points[child->point].key);
        break;
    case 'E':
        child->point = -1;
        progress_step(progress, "");
        break;
    case 'F': {
        char *text;

        child->code = (int)strtol(rest, &text, 10);
        fail_set((enum fail_code)child->code, "%s", *text == ' ' ? text + 1 : text);
        break;
    }
    default:
        break;
    }
}

/* Takes what the pipe holds; false at its end. */
static bool hear(struct child *child, struct sweep *sweep, struct progress *progress)
{
    char bytes[4096];
    ssize_t got = read(child->pipe, bytes, sizeof bytes);

    if (got <= 0)
        return got < 0 && errno == EINTR;
    for (ssize_t i = 0; i < got; i++) {
        if (bytes[i] != '\n') {
            text_add_bytes(&child->pending, &bytes[i], 1);
            continue;
        }
        if (child->pending.length >= 2)
            hear_line(child, sweep, progress, child->pending.bytes);
        text_clear(&child->pending);
    }
    return true;
}

/* Said again until it is heard: the child may not listen yet. */
static void ask_to_stop(struct child *child)
{
    if (!child->asked_to_stop)
        log_info("ending after the point in flight; once more to end at once");
    child->asked_to_stop = true;
    kill(child->pid, SIGTERM);
}

/* Until the child has ended; kills one that is silent for too long. */
static void follow_child(struct child *child, struct sweep *sweep, struct progress *progress)
{
    double heard_s = steady_now_s();
    bool open = true;

    while (open) {
        struct pollfd wait = {.fd = child->pipe, .events = POLLIN};
        double limit_s = child->opened ? sweep->point_limit_s : start_limit_s;
        int ready = poll(&wait, 1, 200);

        if (ready > 0) {
            open = hear(child, sweep, progress);
            heard_s = steady_now_s();
        }
        if (caught_signal)
            ask_to_stop(child);
        if (steady_now_s() - heard_s > limit_s) {
            child->timed_out = true;
            kill(child->pid, SIGKILL);
            break;
        }
    }
    while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
        ;
    child_pid = 0;
    close(child->pipe);
    text_free(&child->pending);
}

/* Marks the point in flight as what became of the child, unless it had just been finished. */
static int mark_point(const struct child *child, const struct sweep *sweep)
{
    struct store_result result = {
        .status = STORE_FAILED, .rel_error = (double)NAN, .lse_error = (double)NAN};
    struct store *store = NULL;
    enum store_status status;
    struct text reason = TEXT_INIT;
    int code;

    if (child->timed_out) {
        result.status = STORE_TIMEOUT;
        text_addf(&reason, "took longer than %.0f s and was ended", sweep->point_limit_s);
    } else if (WIFSIGNALED(child->status)) {
        text_addf(&reason, "the measuring process ended by signal %d", WTERMSIG(child->status));
    } else {
        text_addf(&reason, "the measuring process ended with exit code %d",
                  WEXITSTATUS(child->status));
    }
    result.reason = reason.bytes;
    code = store_resume(&store, sweep->path.bytes);
    if (code == FAIL_OK)
        code = store_get_status(store, (size_t)child->point, &status);
    if (code == FAIL_OK && (status == STORE_PENDING || status == STORE_RUNNING))
        code = store_finish_point(store, (size_t)child->point, &result);
    store_close(store);
    text_free(&reason);
    return code;
}

/* What a child's end means: go on with another (*again), done, or a failure. */
static int judge_child(const struct child *child, struct sweep *sweep, struct progress *progress,
                       bool *again)
{
    bool clean = WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0;
    int code = FAIL_OK;

    *again = false;
    if (clean)
        return FAIL_OK;
    if (child->code != FAIL_OK)
        return child->code; /* its message is set */
    if (child->finished) {
        log_warn("the first point could not be timed again, so a drift would not be seen");
        return FAIL_OK;
    }
    if (child->begun == 0 && child->timed_out)
        return fail_set(FAIL_ENV, "device %s: no answer within %.0f s", sweep->device,
                        child->opened ? sweep->point_limit_s : start_limit_s);
    if (child->begun == 0)
        return fail_set(
            FAIL_ENV, "device %s: the measuring process ended before a point began (%s %d)",
            sweep->device, WIFSIGNALED(child->status) ? "signal" : "exit code",
            WIFSIGNALED(child->status) ? WTERMSIG(child->status) : WEXITSTATUS(child->status));
    /* A child that began a point leaves one finished or marked: this comes to an end. */
    if (child->point >= 0) {
        code = mark_point(child, sweep);
        progress_step(progress, "");
    }
    *again = code == FAIL_OK && !caught_signal;
    return code;
}

static void watch_signals(struct sigaction *old_int, struct sigaction *old_term)
{
    struct sigaction action = {.sa_handler = catch_signal};

    caught_signal = 0;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, old_int);
    sigaction(SIGTERM, &action, old_term);
    signal(SIGPIPE, SIG_IGN);
}

int sweep_run(struct sweep *sweep)
{
    struct sigaction old_int, old_term;
    struct progress progress;
    bool again = true;
    int code = FAIL_OK;

    sweep->end_s = sweep->budget_s > 0 ? steady_now_s() + sweep->budget_s : (double)INFINITY;
    watch_signals(&old_int, &old_term);
    progress_start(&progress, sweep->points->count - sweep->done);
    for (bool resume = sweep->run != NULL; again && code == FAIL_OK; resume = true) {
        struct child child;

        code = start_child(&child, sweep, resume);
        if (code != FAIL_OK)
            break;
        follow_child(&child, sweep, &progress);
        code = judge_child(&child, sweep, &progress, &again);
        sweep->kept = child.kept;
    }
    progress_end(&progress);
    sweep->signal = caught_signal;
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
    return code;
}
