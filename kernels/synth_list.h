/*
 * synth_list: the index list, lengths and pool shape of one of a call's two caches.
 */
#ifndef KERNELS_SYNTH_LIST_H
#define KERNELS_SYNTH_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/kernel.h"
#include "kernels/synth.h"

/* topk 0: there is none. */
struct synth_list {
    uint32_t batch, topk, page_tokens;
    enum synth_index index_kind;
    enum synth_length length_kind;
    int32_t fixed_length;
    uint32_t tokens_per_sequence; /* at least 1 */
    uint64_t seed;
    uint64_t stride_bytes, pages;
    uint8_t *pool;   /* pages x stride_bytes */
    int32_t *index;  /* [batch][topk] */
    int32_t *length; /* [batch]; unused for SYNTH_FULL */
};

/* The main (extra false) or the extra list of a spec; pool, index and length are for the caller to
 * set. */
struct synth_list synth_list_plan(const struct synth_spec *spec, bool extra);

/* Draws lengths and indices; entries past the lengths are ordinary ones until synth_list_finish().
 * FAIL_ENV. */
int synth_list_draw(struct synth_list *list);

/* How many entries of a row count from the left: its length within 0..topk. */
uint32_t synth_list_width(const struct synth_list *list, uint32_t row);
bool synth_list_valid(const struct synth_list *list, uint32_t row, uint32_t position);

/* Masks all of a row's entries but one; position topk: all. */
void synth_list_keep(struct synth_list *list, uint32_t row, uint32_t position);

/* Puts garbage past the lengths and the pool's last slot into the last valid entry. */
void synth_list_finish(struct synth_list *list);

struct kernel_cache synth_list_cache(const struct synth_list *list);

#endif
