/*
 * point: one combination of axis values, ready to run.
 *
 * key: "name=value ..." in axis order, as asked for (nsplit=auto stays auto), without axes at their
 * default and without axes that do not apply.  An axis does not apply when the kernel does not read
 * it, or when it is extra_length or extra_page and extra_topk is 0; kernel, concurrency, batch,
 * cache and launch always apply.  Points with equal keys are one; the first section that names it
 * keeps it.
 */
#ifndef DATA_POINT_H
#define DATA_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "data/axis.h"
#include "data/workload.h"

struct point {
    /* An axis that does not apply holds its default; kernel is never "all". */
    struct axis_value asked[AXIS_COUNT];
    bool applies[AXIS_COUNT];
    uint32_t concurrency, batch; /* resolved: concurrency=batch and batch=auto are numbers here */
    uint32_t calls;              /* ceil(concurrency / batch): calls of one decode step */
    char *section;
    double layers, rest_us;
    char *key;
};

/* What expansion needs to know of a kernel: its name and which axes it reads
 * (bit 1 << enum axis_id). */
struct point_kernel {
    const char *name;
    uint32_t axes;
};

struct point_list {
    struct point *points;
    size_t count;
};

/*
 * Products of every section, first axis slowest, sections in order.  kernel=all (the default) means
 * every kernel given.  FAIL_USAGE: unknown kernel, concurrency=batch together with batch=auto, more
 * than 1,000,000 points.
 */
int point_expand(struct point_list *list, const struct workload *workload,
                 const struct point_kernel *kernels, size_t count);
void point_free(struct point_list *list);

/* Puts the value that a key gives the axis in place of what `value` held; false, and value empty,
 * if the key does not name the axis. */
bool point_find_in_key(const char *key, enum axis_id id, struct text *value);
/*
 * The other way: a point from its key and the batch that was used for it, which batch=auto does not
 * tell; section, layers and rest_us are left empty.  FAIL_DATA: a key that these kernels and axes
 * do not make.
 */
int point_read_key(struct point *point, const char *key, uint32_t batch,
                   const struct point_kernel *kernels, size_t count);

/* Number of an axis that is a number; `otherwise` when it is a word. */
int64_t point_number(const struct point *point, enum axis_id id, int64_t otherwise);

#endif
