/*
 * fail: the one way an error travels.
 *
 * The first function that knows what went wrong calls fail_set() and returns its result; callers
 * pass the negative code on (`goto out`).  Only main() prints fail_text() and turns the code into
 * the exit code.  The text is one line without a final newline; newlines and other control
 * characters in arguments are written as spaces.  State is per thread.
 */
#ifndef BASE_FAIL_H
#define BASE_FAIL_H

enum fail_code {
    FAIL_OK = 0,
    FAIL_USAGE = -1,   /* bad command line, axis, workload or device file      -> exit 2 */
    FAIL_ENV = -2,     /* no device, no permission, missing program or library -> exit 3 */
    FAIL_DATA = -3,    /* a file that cannot be read or written as what it is  -> exit 4 */
    FAIL_WRONG = -4,   /* a result differs from the reference                  -> exit 5 */
    FAIL_NOTHING = -5, /* nothing matched, nothing measured                    -> exit 6 */
    FAIL_UNCLEAR = -6, /* no verdict possible                                  -> exit 7 */

    /* These mark a point as skipped or failed; the exit code is for where they end a command. */
    FAIL_UNSUPPORTED = -7, /* a shape that a kernel or device cannot do        -> exit 6 */
    FAIL_DEVICE = -8       /* a CUDA call failed                               -> exit 4 */
};

/* Records the message and returns code, so that `return fail_set(...)` reads
 * well.  code must not be FAIL_OK. */
int fail_set(enum fail_code code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "prefix: " before the recorded message and returns its code. */
int fail_prefix(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The recorded message; "" when nothing failed yet in this thread.  Valid until
 * the next fail_set(). */
const char *fail_text(void);

/* Exit code of the command-line contract for a result of any function: 0 for FAIL_OK. */
int fail_exit_code(int code);

#endif
