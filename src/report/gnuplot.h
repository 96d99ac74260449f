/*
 * gnuplot: runs the program, without a shell, in a UTF-8 locale.
 */
#ifndef REPORT_GNUPLOT_H
#define REPORT_GNUPLOT_H

#include "base/text.h"

/* gnuplot, or what $SMSCOPE_GNUPLOT names. */
const char *gnuplot_program(void);

/*
 * Runs `gnuplot -c ARGUMENTS...` (NULL ends them).
 * message gets what it said on stderr.  FAIL_ENV: not installed, or it failed, with the first line
 * of its message.
 */
int gnuplot_run(const char *const *arguments, struct text *message);

#endif
