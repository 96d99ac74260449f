/*
 * progress: a bar with the time left, on stderr and only when that is a terminal and -q was not
 * given.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stddef.h>

struct progress {
    size_t total;
    size_t done;
    double started_s; /* monotonic clock */
    int shown;        /* whether anything is drawn at all */
};

void progress_start(struct progress *progress, size_t total);
/* One more item done; label names what runs next (shortened to fit). */
void progress_step(struct progress *progress, const char *label);
/* Shows label without counting. */
void progress_label(struct progress *progress, const char *label);
/* Wipes the bar so that ordinary lines can follow. */
void progress_end(struct progress *progress);

#endif
