#include "fiber/prim.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { FIBER_STACK = 64 * 1024, FIBER_MAX_THREADS = 1024, FIBER_MAX_COPIES = 64, FIBER_WARP = 32 };

enum fiber_state { FIBER_READY, FIBER_IN_WARP, FIBER_IN_BLOCK, FIBER_DONE };

struct fiber_pending {
    void *to;
    const void *from;
    size_t size;
    int group;
};

struct fiber {
    ucontext_t context;
    enum fiber_state state;
    void (*all)(void *const *slots); /* what the lanes of its warp are to do together */
    void *own;
    int group;    /* that copies now belong to */
    int barriers; /* come to in this block */
    int copies;
    struct fiber_pending copy[FIBER_MAX_COPIES];
};

struct fiber_dim fiber_thread, fiber_block, fiber_grid;
struct fiber_options fiber_options;

static struct fiber fibers[FIBER_MAX_THREADS];
static struct fiber *fiber_now;
static ucontext_t fiber_home;
static unsigned char *fiber_stacks, *fiber_shared;
static size_t fiber_shared_size;
static uint32_t fiber_threads;
static void (*fiber_body)(const void *);
static const void *fiber_argument;

static void fiber_broken(const char *what)
{
    fprintf(stderr, "fiber: %s, thread %u of block %u,%u,%u\n", what, fiber_thread.x, fiber_block.x,
            fiber_block.y, fiber_block.z);
    abort();
}

unsigned char *fiber_smem()
{
    return fiber_shared;
}

void fiber_aligned(const void *address, size_t size)
{
    if ((uintptr_t)address % size != 0)
        fiber_broken("misaligned access");
}

static void fiber_yield(enum fiber_state state)
{
    struct fiber *self = fiber_now;

    self->state = state;
    swapcontext(&self->context, &fiber_home);
}

void fiber_sync_block()
{
    if (++fiber_now->barriers != fiber_options.skip_barrier)
        fiber_yield(FIBER_IN_BLOCK);
}

void fiber_warp(void (*all)(void *const *slots), void *own)
{
    struct fiber *self = fiber_now;
    struct fiber *first = &fibers[fiber_thread.x / FIBER_WARP * FIBER_WARP];
    void *slots[FIBER_WARP];

    self->all = all;
    self->own = own;
    self->state = FIBER_IN_WARP;
    for (int i = 0; i < FIBER_WARP; i++)
        if (first[i].state != FIBER_IN_WARP) {
            fiber_yield(FIBER_IN_WARP);
            return;
        }
    for (int i = 0; i < FIBER_WARP; i++) {
        if (first[i].all != all)
            fiber_broken("lanes of a warp wait for different things");
        slots[i] = first[i].own;
        first[i].state = FIBER_READY;
    }
    all(slots);
}

void fiber_copy(void *to, const void *from, size_t size, bool valid)
{
    struct fiber *self = fiber_now;
    unsigned char *target = (unsigned char *)to;

    fiber_aligned(to, size);
    fiber_aligned(from, size);
    if (target < fiber_shared || target + size > fiber_shared + fiber_shared_size)
        fiber_broken("copy to outside shared memory");
    if (self->copies == FIBER_MAX_COPIES)
        fiber_broken("too many copies in flight");
    memset(to, 0xff, size);
    self->copy[self->copies++] = {to, valid ? from : nullptr, size, self->group};
}

void fiber_copy_commit()
{
    fiber_now->group++;
}

void fiber_copy_wait(int pending)
{
    struct fiber *self = fiber_now;
    int left = 0;

    for (int i = 0; i < self->copies; i++) {
        struct fiber_pending *copy = &self->copy[i];

        if (copy->group >= self->group - pending)
            self->copy[left++] = *copy;
        else if (copy->from)
            memcpy(copy->to, copy->from, copy->size);
        else
            memset(copy->to, 0, copy->size);
    }
    self->copies = left;
}

/* One element of a fragment: half `half` of the pair that the lane of (row or column g, pair t)
 * holds. */
static float fiber_half(uint32_t pair, int half)
{
    return fiber_from_bf16(half != 0 ? pair >> 16 : pair & 0xffff);
}

static void fiber_gather(float (&a)[16][16], float (&b)[16][8], void *const *slots)
{
    for (int lane = 0; lane < FIBER_WARP; lane++) {
        const struct fiber_fragment *own = (const struct fiber_fragment *)slots[lane];
        int g = lane / 4, t = lane % 4;

        for (int half = 0; half < 2; half++) {
            a[g][2 * t + half] = fiber_half(own->a[0], half);
            a[g + 8][2 * t + half] = fiber_half(own->a[1], half);
            a[g][2 * t + 8 + half] = fiber_half(own->a[2], half);
            a[g + 8][2 * t + 8 + half] = fiber_half(own->a[3], half);
            b[2 * t + half][g] = fiber_half(own->b[0], half);
            b[2 * t + 8 + half][g] = fiber_half(own->b[1], half);
        }
    }
}

void fiber_mma_all(void *const *slots)
{
    float a[16][16], b[16][8];

    fiber_gather(a, b, slots);
    for (int lane = 0; lane < FIBER_WARP; lane++) {
        struct fiber_fragment *own = (struct fiber_fragment *)slots[lane];

        for (int i = 0; i < 4; i++) {
            int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
            double sum = 0;

            for (int k = 0; k < 16; k++)
                sum += (double)a[row][k] * (double)b[k][column];
            own->c[i] = (float)((double)own->c[i] + sum);
        }
    }
}

static void fiber_start()
{
    fiber_body(fiber_argument);
    fiber_yield(FIBER_DONE);
}

static void fiber_prepare(uint32_t thread)
{
    struct fiber *fiber = &fibers[thread];

    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber_stacks + (size_t)thread * FIBER_STACK;
    fiber->context.uc_stack.ss_size = FIBER_STACK;
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, fiber_start, 0);
    fiber->state = FIBER_READY;
    fiber->group = 0;
    fiber->barriers = 0;
    fiber->copies = 0;
}

static uint32_t fiber_order(uint32_t i, uint32_t count)
{
    return fiber_options.descending ? count - 1 - i : i;
}

static bool fiber_resume(uint32_t thread)
{
    if (fibers[thread].state != FIBER_READY)
        return false;
    fiber_now = &fibers[thread];
    fiber_thread.x = thread;
    swapcontext(&fiber_home, &fiber_now->context);
    return true;
}

/* Runs a warp until none of its lanes can go on. */
static void fiber_run_warp(uint32_t warp)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (uint32_t i = 0; i < FIBER_WARP; i++)
            moved |= fiber_resume(warp * FIBER_WARP + fiber_order(i, FIBER_WARP));
    }
}

/* Lets the block pass its barrier; how many threads are left, or -1 when they don't all wait for
 * it. */
static int fiber_pass_barrier()
{
    int left = 0, waiting = 0;

    for (uint32_t i = 0; i < fiber_threads; i++) {
        left += fibers[i].state != FIBER_DONE;
        waiting += fibers[i].state == FIBER_IN_BLOCK;
    }
    if (waiting != left || (left > 0 && (uint32_t)left != fiber_threads))
        return -1;
    for (uint32_t i = 0; i < fiber_threads; i++)
        if (fibers[i].state == FIBER_IN_BLOCK)
            fibers[i].state = FIBER_READY;
    return left;
}

static int fiber_run_block()
{
    int left;

    memset(fiber_shared, 0xff, fiber_shared_size);
    for (uint32_t i = 0; i < fiber_threads; i++)
        fiber_prepare(i);
    do {
        uint32_t warps = fiber_threads / FIBER_WARP;

        for (uint32_t i = 0; i < warps; i++)
            fiber_run_warp(fiber_order(i, warps));
        left = fiber_pass_barrier();
    } while (left > 0);
    return left;
}

int fiber_run(void (*body)(const void *), const void *argument, const struct plan_launch *launch)
{
    int error = 0;

    fiber_threads = plan_threads(launch);
    fiber_shared_size = launch->smem_dynamic_bytes;
    fiber_body = body;
    fiber_argument = argument;
    fiber_grid = {launch->grid[0], launch->grid[1], launch->grid[2]};
    fiber_stacks =
        (unsigned char *)mmap(nullptr, (size_t)fiber_threads * FIBER_STACK, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fiber_shared = (unsigned char *)aligned_alloc(128, (fiber_shared_size + 255) / 128 * 128);
    if (fiber_stacks == MAP_FAILED || !fiber_shared)
        fiber_broken("out of memory");
    for (uint64_t i = 0; error == 0 && i < plan_blocks(launch); i++) {
        fiber_block.x = (uint32_t)(i % fiber_grid.x);
        fiber_block.y = (uint32_t)(i / fiber_grid.x % fiber_grid.y);
        fiber_block.z = (uint32_t)(i / fiber_grid.x / fiber_grid.y);
        error = fiber_run_block();
    }
    free(fiber_shared);
    munmap(fiber_stacks, (size_t)fiber_threads * FIBER_STACK);
    return error;
}
