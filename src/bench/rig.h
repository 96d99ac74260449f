/*
 * rig: the device side of a sweep, one for each child process.  Its data is laid out anew for each
 * point.
 *
 * The pool holds at least 4,194,304 slots (fewer when memory is short), filled with
 * RIG_PERIOD_TOKENS distinct tokens of synth_fill_pages() over and over: every slot has its own
 * address, so that gathers hit DRAM as they would in service.  Index lists are consecutive cuts of
 * one random permutation of all slots: K steps read K disjoint sets.
 */
#ifndef BENCH_RIG_H
#define BENCH_RIG_H

#include <stdint.h>

#include "bench/pass.h"
#include "gpu/buffer.h"
#include "gpu/device.h"

enum { RIG_PERIOD_TOKENS = 65536, RIG_MAX_STEPS = 20 };

/* One cache: pool, permutation and lengths. */
struct rig_cache {
    struct buffer pool, index, length;
    uint8_t *host_pool;  /* one period */
    int32_t *host_index; /* the permutation */
    int32_t *host_length;
    uint32_t page_tokens; /* what the pool is laid out for; 0: nothing yet */
    uint64_t stride_bytes;
    uint32_t slots;        /* in the pool */
    uint32_t period_slots; /* slot s holds the token of slot s % period_slots */
    bool has_length;       /* for the point at hand */
    uint32_t topk;         /* likewise; 0: no such cache */
};

struct rig {
    struct device device;
    void *stream;
    uint64_t seed;
    struct rig_cache main, extra;
    struct buffer q, out, lse, scratch, sink, flush;
    uint16_t *host_q;
    float *host_sink; /* [heads] of the point at hand; NULL: none */
    uint32_t steps;   /* K */
    uint32_t rows;    /* of one step: calls x batch */
};

int rig_open(struct rig *rig, int ordinal, uint64_t seed);
void rig_close(struct rig *rig);

/* Lays out data for a point.  FAIL_UNSUPPORTED when memory does not suffice for a single step. */
int rig_prepare(struct rig *rig, const struct pass_context *context);

/* Arguments of call `call` of step `step`. */
void rig_args(const struct rig *rig, const struct pass_context *context, uint32_t step,
              uint32_t call, struct kernel_args *args);

/* The same step as one call over all its rows, with host pointers; caches as
 * reference_part's periods describe them. */
void rig_host_args(const struct rig *rig, const struct pass_context *context, uint32_t step,
                   struct kernel_args *args);

/* Enqueues all launches of one step. */
int rig_launch_step(const struct rig *rig, const struct pass_context *context, uint32_t step,
                    void *stream);

/* Empties L2 of the point's data, by reading something else; nothing when the
 * point asks for cache=hot. */
int rig_flush(const struct rig *rig, const struct pass_context *context, void *stream);

/* The set of index lists that step `step` of a replay uses: all on one when the
 * point asks for cache=hot. */
uint32_t rig_set(const struct pass_context *context, uint32_t step);

#endif
