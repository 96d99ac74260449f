/*
 * validate: every kernel on every case of kernels/cases.h, on a device, against the reference.
 *
 * The reference of a data set is computed once and serves all kernels and split counts.  Outputs
 * are poisoned before each run.
 */
#ifndef BENCH_VALIDATE_H
#define BENCH_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct validate {
    int ordinal;
    const char *kernel;                 /* only this one; NULL: all */
    bool quick;                         /* the small subset */
    FILE *lines;                        /* every case, one line; NULL: nowhere */
    FILE *summary;                      /* a table a data kind and kernel */
    size_t passed, failed, unsupported; /* out */
};

/* FAIL_WRONG when a case failed; FAIL_ENV and FAIL_DEVICE as the device says. */
int validate_run(struct validate *validate);

#endif
