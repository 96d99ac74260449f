/*
 * workload: an INI file of sections, each a product of axes.
 *
 * [global], wherever it stands, gives defaults to every other section: a key there counts where
 * the section itself does not name it.  A file with only [global] is one section of that name, a
 * file without any section is FAIL_USAGE.  Section keys besides axis names: layers, rest_us
 * (microseconds of a decode step outside these kernels), buckets.
 */
#ifndef DATA_WORKLOAD_H
#define DATA_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/axis.h"

struct workload_section {
    char *name;
    struct axis_list axes[AXIS_COUNT]; /* count 0: not named here */
    double layers;                     /* 1 if not given */
    double rest_us;                    /* 0 if not given */
    struct axis_list buckets;          /* of batch=auto; 1, 2, 4, ... 512 if not given */
};

struct workload {
    char *name; /* file name without folder and .ini; "axes" for workload_from_axes */
    char *text; /* the file as it was read; "" for workload_from_axes */
    struct workload_section *sections;
    size_t count;
};

/* NAME means workloads/NAME.ini, with a '/' or ".ini" it is a path.  FAIL_USAGE
 * with file:line, FAIL_DATA if unreadable. */
int workload_read(struct workload *workload, const char *name);
int workload_parse(struct workload *workload, const char *name, const char *text, size_t length);
/* One section with no axis named: every axis at its default. */
int workload_from_axes(struct workload *workload);
/* -a NAME=ITEMS: replaces the axis in every section. */
int workload_override(struct workload *workload, const char *option);
void workload_free(struct workload *workload);

#endif
