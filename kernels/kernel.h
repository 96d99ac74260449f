/*
 * kernel: what a decode kernel is to the rest of the program.
 *
 * A kernel is NAME.c (supports and plan: plain C, built everywhere) and NAME.cu (device code and
 * launch: built with nvcc).  Without CUDA `launch` is NULL and everything else works.
 *
 * The operation, for each row b and head h, over the entries e of the main list then the extra
 * list: s_e = scale * <q[b][h], k_e>     m = max s_e     l = sum exp(s_e - m)     lse = m + ln(l)
 *   out[b][h] = sum exp(s_e - lse) k_e  * (sink ? 1 / (1 + exp(sink[h] - lse)) : 1)
 * k_e is the token's 512 dequantised values.  An entry counts when its position is below the list's
 * length (clamped to [0, topk]) and its index is not negative.  A row without entries: out 0, lse
 * +inf.  The sink never enters lse. sink +inf gives out 0, -inf changes nothing.
 *
 * Outside the contract: an index beyond the pool; an e4m3 NaN code (0x7F, 0xFF), a scale byte 0x00
 * or 0xFF or a bf16 NaN or inf in the rope of a *referenced* slot.  Unreferenced slots, pad bytes
 * and entries past the length may hold anything.
 */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gpuspec;
struct plan;

/* One cache with its index list.  topk 0: there is no such cache and the pointers are NULL. */
struct kernel_cache {
    const uint8_t *pool;   /* pages, first byte 16-byte aligned */
    const int32_t *index;  /* [batch][topk] slot = page * page_tokens + offset; negative: masked */
    const int32_t *length; /* [batch], entries that count from the left; NULL: all topk */
    uint32_t topk;
    uint32_t page_tokens;
    uint64_t page_stride_bytes; /* multiple of 16 */
};

/* Device pointers of one call.  q, out: bf16 as uint16_t. */
struct kernel_args {
    const uint16_t *q; /* [batch][heads][512], 16-byte aligned */
    struct kernel_cache main, extra;
    const float *sink; /* [heads], natural-log domain; NULL: none */
    float scale;       /* softmax scale, 1/sqrt(512) for this model */
    uint32_t heads, batch;
    uint16_t *out; /* [batch][heads][512] */
    float *lse;    /* [batch][heads], natural log */
    void *scratch; /* plan.scratch_bytes, 256-byte aligned; NULL if that is 0.  May be shared by
                      calls on one stream. */
};

/* As a number of parts: the largest power of two that keeps the blocks at or under twice the SMs
 * and leaves each part a tile. */
#define KERNEL_POW2 UINT32_MAX

/* What supports and plan may depend on: shapes only, never device data, so that a CUDA graph's grid
 * is stable. */
struct kernel_shape {
    uint32_t heads, batch;
    uint32_t topk, extra_topk; /* at least one of them is not 0 */
    uint32_t page_tokens, extra_page_tokens;
    uint64_t page_stride_bytes, extra_page_stride_bytes;
    bool has_sink;
    uint32_t nsplit; /* parts asked for, KERNEL_POW2, or 0: the kernel's default rule */
};

struct kernel {
    const char *name;    /* "simt" */
    const char *variant; /* "portable", "hopper", "cluster" */
    const char *summary;
    uint32_t axes; /* bit 1 << enum axis_id for each axis it reads */
    /* FAIL_UNSUPPORTED with the reason when this shape cannot run on that GPU. */
    int (*supports)(const struct kernel_shape *shape, const struct gpuspec *spec);
    /* Only for shapes that supports() accepts. */
    void (*plan)(const struct kernel_shape *shape, const struct gpuspec *spec, struct plan *plan);
    /*
     * Enqueues plan->launch[0..count) by their roles on stream (a cudaStream_t); a plan cut down to
     * one of its launches enqueues just that one.  Allocates and synchronises nothing.  Returns a
     * cudaError_t.
     */
    int (*launch)(const struct plan *plan, const struct kernel_args *args, void *stream);
};

#ifdef HAVE_CUDA
#define KERNEL_LAUNCH(function) (function)
#else
#define KERNEL_LAUNCH(function) NULL
#endif

/* All kernels, in the order they are listed and swept; variants of one name best first. */
extern const struct kernel *const kernel_table[];
extern const size_t kernel_count;

bool kernel_exists(const char *name);

#define KERNEL_AUTO "auto"

/*
 * The variant of that name that does this shape on that GPU; with KERNEL_AUTO the first one of the
 * table that can.  FAIL_UNSUPPORTED with the reason: *found is then the last one tried, NULL when
 * there is no such variant.
 */
int kernel_find(const struct kernel **found, const char *name, const char *variant,
                const struct kernel_shape *shape, const struct gpuspec *spec);

#ifdef __cplusplus
}
#endif

#endif
