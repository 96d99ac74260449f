/*
 * activity: every kernel launch's start and end from CUPTI's Activity API (CONCURRENT_KERNEL).
 *
 * CUPTI is opened at run time.  Its buffers are a fixed pool of 64 MB that is never freed (CUPTI
 * may still hold one at exit) and at most ACTIVITY_RECORDS_MAX records are kept.  Records that are
 * dropped or broken are counted by cause and never averaged in.  One trace at a time in a process.
 */
#ifndef GPU_ACTIVITY_H
#define GPU_ACTIVITY_H

#include <stddef.h>
#include <stdint.h>

enum { ACTIVITY_RECORDS_MAX = 1 << 20 };

struct activity_record {
    uint64_t start_ns, end_ns; /* CUPTI's clock */
    const char *name; /* whole (mangled), as CUPTI gives it; points into the list's names */
    uint32_t grid[3], block[3];
    uint32_t registers, smem_static_bytes, smem_dynamic_bytes;
    uint32_t graph_id; /* 0: not from a graph */
    uint64_t node_id;
    uint32_t correlation;
};

/* Records that were not kept, by cause. */
struct activity_losses {
    uint64_t dropped;   /* CUPTI's own count, for want of buffers */
    uint64_t zero;      /* start or end 0: no time was taken, or the kernel had not ended */
    uint64_t reversed;  /* end <= start */
    uint64_t sentinel;  /* >= 2^63 */
    uint64_t duplicate; /* of the same launch of the same graph node */
    uint64_t foreign;   /* not within the phase from start to stop */
    uint64_t overflow;  /* more than ACTIVITY_RECORDS_MAX */
};

struct activity_list {
    struct activity_record *records; /* sorted by start */
    size_t count;
    char **names; /* each distinct kernel name once */
    size_t name_count;
    struct activity_losses losses;
};

/* The device is to be idle.  FAIL_ENV with cause and remedy when CUPTI is missing, too old or taken
 * by another subscriber. */
int activity_start(void);
/*
 * Synchronise the device before.  Flushes by force, switches off and hands over the records since
 * start.  Switches off and leaves the list empty also when it fails.
 */
int activity_stop(struct activity_list *list);
void activity_free(struct activity_list *list);
/* Sum over the causes. */
uint64_t activity_lost(const struct activity_losses *losses);

#endif
