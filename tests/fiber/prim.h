/*
 * prim: kernels/prim.cuh for a CPU.  Included first, it takes that header's place, and .cu files
 * compile as C++17.
 *
 * A kernel runs block after block, one fiber a thread.  A fiber runs until it waits: for the
 * block's barrier, or for the other lanes of its warp in a warp-wide operation, which the last lane
 * to come carries out for all.  Made to show faults: shared memory starts as NaN bytes, and so does
 * every target of an asynchronous copy until its thread has waited for it warps run one after the
 * other as far as they get, lanes likewise, first to last or last to first different waits of one
 * warp's lanes, or a wait that never ends, fail the launch
 */
#ifndef FIBER_PRIM_H
#define FIBER_PRIM_H
#define KERNELS_PRIM_CUH

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern "C" {
#include "data/plan.h"
}

#define __global__
#define __grid_constant__
#define __launch_bounds__(threads, blocks)
#define PRIM_DEVICE static inline

struct fiber_dim {
    uint32_t x, y, z;
};

extern struct fiber_dim fiber_thread, fiber_block, fiber_grid;
#define threadIdx fiber_thread
#define blockIdx fiber_block
#define gridDim fiber_grid

struct fiber_options {
    bool descending;  /* run warps and lanes from last to first */
    int skip_barrier; /* the block barrier that holds nobody, counted from 1; 0: none */
};

extern struct fiber_options fiber_options;

/* Runs a grid.  0, or -1 with a line on stderr when threads wait in vain for each other. */
int fiber_run(void (*body)(const void *), const void *argument, const struct plan_launch *launch);

unsigned char *fiber_smem();
void fiber_sync_block();
/* Waits for all lanes of the warp; the last one runs all(slots), slots[lane] being what lane gave.
 */
void fiber_warp(void (*all)(void *const *slots), void *own);
void fiber_copy(void *to, const void *from, size_t size, bool valid);
void fiber_copy_commit();
void fiber_copy_wait(int pending);

struct prim_quad {
    uint32_t word[4];
};

struct prim_pair {
    uint32_t word[2];
};

/* Loads and stores insist on the alignment that the GPU insists on. */
void fiber_aligned(const void *address, size_t size);

static inline struct prim_quad prim_load16(const void *from)
{
    struct prim_quad value;

    fiber_aligned(from, sizeof value);
    memcpy(&value, from, sizeof value);
    return value;
}

static inline struct prim_pair prim_load8(const void *from)
{
    struct prim_pair value;

    fiber_aligned(from, sizeof value);
    memcpy(&value, from, sizeof value);
    return value;
}

template <typename T>
static inline void prim_store16(void *to, T a, T b, T c, T d)
{
    T values[4] = {a, b, c, d};

    static_assert(sizeof values == 16, "four words");
    fiber_aligned(to, sizeof values);
    memcpy(to, values, sizeof values);
}

static inline void prim_store8(void *to, uint32_t a, uint32_t b)
{
    uint32_t values[2] = {a, b};

    fiber_aligned(to, sizeof values);
    memcpy(to, values, sizeof values);
}

static inline unsigned char *prim_smem()
{
    return fiber_smem();
}

static inline void prim_copy16(void *to, const void *from, bool valid)
{
    fiber_copy(to, from, 16, valid);
}

static inline void prim_copy8(void *to, const void *from, bool valid)
{
    fiber_copy(to, from, 8, valid);
}

static inline void prim_copy_commit()
{
    fiber_copy_commit();
}

template <int PENDING>
static inline void prim_copy_wait()
{
    fiber_copy_wait(PENDING);
}

static inline void prim_sync_block()
{
    fiber_sync_block();
}

static inline void fiber_nothing(void *const *)
{
}

static inline void prim_sync_warp()
{
    fiber_warp(fiber_nothing, nullptr);
}

template <typename T>
struct fiber_exchange {
    T value, result;
    uint32_t lane;
};

template <typename T>
static void fiber_exchange_all(void *const *slots)
{
    for (uint32_t i = 0; i < 32; i++) {
        struct fiber_exchange<T> *own = (struct fiber_exchange<T> *)slots[i];
        own->result = ((struct fiber_exchange<T> *)slots[own->lane & 31])->value;
    }
}

template <typename T>
static inline T prim_shuffle(T value, uint32_t lane)
{
    struct fiber_exchange<T> own = {
        value, value, lane
    };

    fiber_warp(fiber_exchange_all<T>, &own);
    return own.result;
}

template <typename T>
static inline T prim_shuffle_xor(T value, uint32_t mask)
{
    return prim_shuffle(value, (threadIdx.x & 31) ^ mask);
}

struct fiber_vote {
    bool value;
    uint32_t result;
};

static inline void fiber_vote_all(void *const *slots)
{
    uint32_t result = 0;

    for (uint32_t i = 0; i < 32; i++)
        result |= (uint32_t)((struct fiber_vote *)slots[i])->value << i;
    for (uint32_t i = 0; i < 32; i++)
        ((struct fiber_vote *)slots[i])->result = result;
}

static inline uint32_t prim_ballot(bool value)
{
    struct fiber_vote own = {value, 0};

    fiber_warp(fiber_vote_all, &own);
    return own.result;
}

static inline uint32_t prim_count(uint32_t bits)
{
    return (uint32_t)__builtin_popcount(bits);
}

static inline bool prim_any(bool value)
{
    return prim_ballot(value) != 0;
}

static inline float prim_exp2(float x)
{
    return exp2f(x);
}

static inline float prim_log2(float x)
{
    return log2f(x);
}

static inline float prim_multiply(float a, float b)
{
    volatile float product = a * b;
    return product;
}

static inline float prim_infinity()
{
    return INFINITY;
}

static inline float prim_as_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float fiber_from_bf16(uint32_t bits)
{
    return prim_as_float(bits << 16);
}

static inline uint32_t fiber_to_bf16(float value)
{
    uint32_t bits;

    if (isnan(value))
        return 0x7fff;
    memcpy(&bits, &value, sizeof bits);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static inline uint32_t prim_pack_bf16(float low, float high)
{
    return fiber_to_bf16(low) | fiber_to_bf16(high) << 16;
}

static inline uint32_t prim_multiply_bf16x2(uint32_t a, uint32_t b)
{
    return prim_pack_bf16(fiber_from_bf16(a & 0xffff) * fiber_from_bf16(b & 0xffff),
                          fiber_from_bf16(a >> 16) * fiber_from_bf16(b >> 16));
}

static inline float fiber_from_f16(uint32_t bits)
{
    float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
    int exponent = (int)(bits >> 10 & 31);
    float mantissa = (float)(bits & 1023);

    return exponent == 0 ? sign * ldexpf(mantissa, -24)
                         : sign * ldexpf(1024.0f + mantissa, exponent - 25);
}

static inline void prim_unpack_f16(uint32_t pair, float *low, float *high)
{
    *low = fiber_from_f16(pair & 0xffff);
    *high = fiber_from_f16(pair >> 16);
}

static inline uint32_t prim_permute(uint32_t a, uint32_t b, uint32_t selector)
{
    uint64_t bytes = a | (uint64_t)b << 32;
    uint32_t result = 0;

    for (uint32_t i = 0; i < 4; i++)
        result |= (uint32_t)(bytes >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
    return result;
}

struct fiber_fragment {
    float *c;
    const uint32_t *a, *b;
};

/* The 16x8x16 product of 32 fragments. */
void fiber_mma_all(void *const *slots);

static inline void prim_mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    struct fiber_fragment own = {c, a, b};

    fiber_warp(fiber_mma_all, &own);
}

static inline void prim_grid_wait()
{
}

static inline void prim_grid_release()
{
}

template <typename Params>
struct fiber_call {
    void (*function)(Params);
    const Params *params;

    static void run(const void *self)
    {
        const struct fiber_call *call = (const struct fiber_call *)self;
        call->function(*call->params);
    }
};

template <typename Params>
static int prim_launch(void (*function)(Params), const struct plan_launch *launch,
                       const Params *params, void *)
{
    struct fiber_call<Params> call = {
        function, params
    };

    return fiber_run(call.run, &call, launch);
}

#endif
