#include "report/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/mem.h"

enum { NOT_FOUND = 127 };

const char *gnuplot_program(void)
{
    const char *name = getenv("SMSCOPE_GNUPLOT");

    return name && *name ? name : "gnuplot";
}

static void run_child(char **argv, int message_fd)
{
    int null_fd = open("/dev/null", O_RDWR);

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody waits for the picture then */
    if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(null_fd, STDOUT_FILENO) < 0 ||
        dup2(message_fd, STDERR_FILENO) < 0 || setenv("LC_ALL", "C.UTF-8", 1) != 0)
        _exit(1);
    execvp(argv[0], argv);
    _exit(errno == ENOENT ? NOT_FOUND : 126);
}

static void read_all(int fd, struct text *message)
{
    char bytes[4096];
    ssize_t got;

    while ((got = read(fd, bytes, sizeof bytes)) > 0 || (got < 0 && errno == EINTR))
        if (got > 0)
            text_add_bytes(message, bytes, (size_t)got);
}

/* The first line that says something: gnuplot may put a blank line and a caret before it. */
static char *first_line(const char *message)
{
    size_t skip, length;
    char *line;

    while (*message) {
        skip = strspn(message, " \t\r\n^");
        message += skip;
        length = strcspn(message, "\r\n");
        if (length > 0) {
            line = mem_strdup(message);
            line[length] = '\0';
            return line;
        }
    }
    return NULL;
}

static int judge(int status, const struct text *message)
{
    char *line = first_line(message->bytes);
    int code = FAIL_OK;

    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND && !line)
        code = strcmp(gnuplot_program(), "gnuplot") == 0
                   ? fail_set(FAIL_ENV, "gnuplot is not installed (apt-get install gnuplot-nox)")
                   : fail_set(FAIL_ENV, "gnuplot: there is no program '%s' ($SMSCOPE_GNUPLOT)",
                              gnuplot_program());
    else if (WIFSIGNALED(status))
        code = fail_set(FAIL_ENV, "gnuplot: ended by signal %d", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0 && line)
        code = fail_set(FAIL_ENV, "gnuplot: %s", line);
    else if (WEXITSTATUS(status) != 0)
        code = fail_set(FAIL_ENV, "gnuplot: exit status %d without a message", WEXITSTATUS(status));
    free(line);
    return code;
}

static char **make_argv(const char *const *arguments)
{
    size_t count = 0;
    char **argv;

    while (arguments[count])
        count++;
    argv = mem_new(count + 3, sizeof *argv);
    argv[0] = mem_strdup(gnuplot_program());
    argv[1] = mem_strdup("-c");
    for (size_t i = 0; i < count; i++)
        argv[i + 2] = mem_strdup(arguments[i]);
    return argv;
}

int gnuplot_run(const char *const *arguments, struct text *message)
{
    char **argv = make_argv(arguments);
    int fds[2], status = 0, code;
    pid_t child = -1;

    text_clear(message);
    if (pipe2(fds, O_CLOEXEC) != 0) {
        code = fail_set(FAIL_ENV, "gnuplot: cannot make a pipe: %s", strerror(errno));
        goto out;
    }
    child = fork();
    if (child == 0)
        run_child(argv, fds[1]);
    close(fds[1]);
    if (child > 0)
        read_all(fds[0], message);
    close(fds[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    code = child > 0 ? judge(status, message)
                     : fail_set(FAIL_ENV, "gnuplot: cannot start a process: %s", strerror(errno));
out:
    for (char **argument = argv; *argument; argument++)
        free(*argument);
    free(argv);
    return code;
}
