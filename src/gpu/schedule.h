/*
 * schedule: the host side of a counter session: which metrics one pass can hold, the configuration
 * image for them, and their values from a decoded counter image.  Needs no GPU.  Only for files
 * under HAVE_CUPTI_RANGE.
 */
#ifndef GPU_SCHEDULE_H
#define GPU_SCHEDULE_H

#include "gpu/cupti_table.h"

struct schedule {
    const struct cupti *cupti;
    char *chip;            /* owned */
    uint8_t *availability; /* owned: which counters this user may have, from CUPTI */
    CUpti_Profiler_Host_Object *host;
    uint8_t *config;
    size_t config_bytes;
    const char **names; /* the metrics that are measured; the strings are the caller's */
    size_t *column;     /* their numbers in the caller's list */
    size_t count;
};

/*
 * schedule holds cupti, chip and availability.  Takes the metrics in order, leaving out those that
 * CUPTI does not know or that would need a second pass.  FAIL_ENV when that leaves none.
 * schedule_free() also after a failure.
 */
int schedule_make(struct schedule *schedule, const char *const *metrics, size_t count);
void schedule_free(struct schedule *schedule);

/* Metric number `metric` of those measured, in a range of a decoded image; NaN
 * when it cannot be computed. */
double schedule_value(const struct schedule *schedule, const uint8_t *image, size_t image_bytes,
                      size_t range, size_t metric);

#endif
