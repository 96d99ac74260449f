/*
 * doctor: what can be measured on a GPU of this machine, found out by trying.
 */
#ifndef GPU_DOCTOR_H
#define GPU_DOCTOR_H

#include <stdbool.h>

#include "base/text.h"

enum doctor_verdict {
    DOCTOR_OK,
    DOCTOR_OFF,  /* not there, and nobody asked for it */
    DOCTOR_WARN, /* works, but read the remedy */
    DOCTOR_FAIL
};

/* Takes one check's outcome; remedy "" when there is nothing to do. */
typedef void doctor_report(void *user, const char *check, enum doctor_verdict verdict,
                           const char *found, const char *remedy);

/*
 * Reports on driver, GPU number ordinal, NVML and CUPTI, traces one small launch and counts
 * another.  asked: the user named the GPU, so that a missing one is a failure.  Returns whether
 * kernels run on it.  Takes about a second.
 */
bool doctor_gpu(int ordinal, bool asked, doctor_report *report, void *user);

/*
 * Whether copies of different CUDA releases (major * 100 + minor, 0: unknown or none) go together:
 * CUPTI's library, the headers this program was built with, the driver.  *remedy receives why not
 * and what to do.
 */
enum doctor_verdict doctor_cupti_mix(int library, int header, int driver, struct text *remedy);

#endif
