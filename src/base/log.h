/*
 * log: lines on stderr ("smscope: ..."), never on stdout.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

/* -q: log_info() prints nothing; warnings stay. */
void log_set_quiet(bool quiet);
bool log_is_quiet(void);

void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Like log_warn, but a text already printed by this process is not printed again. */
void log_warn_once(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Progress tells that a bar stands on the line: the next line printed wipes it first. */
void log_bar_shown(bool shown);

#endif
