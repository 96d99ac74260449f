/*
 * prim90: machine operations that only Hopper has (sm_90a), by name; see prim.cuh.
 *
 * Elsewhere the header is empty: code that uses it stands under PRIM90.
 */
#ifndef KERNELS_PRIM90_CUH
#define KERNELS_PRIM90_CUH

#include "kernels/prim.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define PRIM90

/* --- barriers in shared memory: a phase ends with its arrivals and its announced bytes ----------
 */

PRIM_DEVICE void prim_barrier_init(uint64_t *barrier, uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(prim_smem_address(barrier)),
                 "r"(arrivals)
                 : "memory");
}

/* After the inits: lets the copy engine and, behind a barrier, other threads see them. */
PRIM_DEVICE void prim_barrier_fence()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

PRIM_DEVICE void prim_barrier_arrive(uint64_t *barrier)
{
    asm volatile(
        "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(prim_smem_address(barrier))
        : "memory");
}

/* Arrives, and adds bytes that copies will bring. */
PRIM_DEVICE void prim_barrier_expect(uint64_t *barrier, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(
                     prim_smem_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

/* Waits until the phase of that parity has ended. */
PRIM_DEVICE void prim_barrier_wait(uint64_t *barrier, uint32_t parity)
{
    uint32_t done = 0;

    while (done == 0)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%1], "
                     "%2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(done)
                     : "r"(prim_smem_address(barrier)), "r"(parity)
                     : "memory");
}

/* Barrier `id` (1..15) of `threads` threads of the block. */
PRIM_DEVICE void prim_sync_some(uint32_t id, uint32_t threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* --- the copy engine ----------------------------------------------------------------------------
 */

/* Copies to shared memory; addresses and bytes are multiples of 16. */
PRIM_DEVICE void prim_bulk_copy(void *to, const void *from, uint32_t bytes, uint64_t *barrier)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(prim_smem_address(to)),
        "l"(from), "r"(bytes), "r"(prim_smem_address(barrier))
        : "memory");
}

/* Makes this thread's writes to shared memory visible to the copy engine and the tensor cores. */
PRIM_DEVICE void prim_async_fence()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* --- clusters -----------------------------------------------------------------------------------
 */

PRIM_DEVICE void prim_cluster_arrive()
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

/* Waits until all threads of the cluster have arrived. */
PRIM_DEVICE void prim_cluster_wait()
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* The place in block `rank` of the cluster that `pointer` has in this one; for prim_far_ only. */
PRIM_DEVICE uint32_t prim_far(const void *pointer, uint32_t rank)
{
    uint32_t far;
    asm("mapa.shared::cluster.u32 %0, %1, %2;"
        : "=r"(far)
        : "r"(prim_smem_address(pointer)), "r"(rank));
    return far;
}

PRIM_DEVICE struct prim_quad prim_far_load16(uint32_t far)
{
    struct prim_quad value;
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.word[0]), "=r"(value.word[1]), "=r"(value.word[2]),
                   "=r"(value.word[3])
                 : "r"(far)
                 : "memory");
    return value;
}

PRIM_DEVICE void prim_far_store(uint32_t far, float value)
{
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(far), "f"(value) : "memory");
}

/* --- fragments ----------------------------------------------------------------------------------
 */

/*
 * Four 8x8 matrices of bf16 as prim_mma's a: lanes 0-7 give the rows of the upper left one, 8-15 of
 * the lower left, 16-23 of the upper right, 24-31 of the lower right.
 */
PRIM_DEVICE void prim_load_matrices(uint32_t (&a)[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(prim_smem_address(row))
                 : "memory");
}

/* --- registers of a warpgroup -------------------------------------------------------------------
 */

template <int REGISTERS>
PRIM_DEVICE void prim_registers_grow()
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int REGISTERS>
PRIM_DEVICE void prim_registers_shrink()
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

/* --- matrix products of a warpgroup -------------------------------------------------------------
 */

/*
 * A bf16 operand in shared memory, swizzled by 128 bytes: rows of 64 values (128 bytes) in groups
 * of 8 (1024 bytes, aligned), 16-byte chunk c of row r at c ^ (r % 8).  The rows are the operand's
 * M or N, 64 values of K side by side; or, transposed, they are K, and `apart` bytes lie between
 * one 64 values of N and the next.
 */
PRIM_DEVICE uint64_t prim_operand(const void *first, uint32_t apart)
{
    uint64_t address = prim_smem_address(first);

    return (address & 0x3ffff) >> 4 | (uint64_t)(apart >> 4) << 16 | (uint64_t)(1024 >> 4) << 32 |
           (uint64_t)1 << 62;
}

/* An operand that starts `bytes` further. */
PRIM_DEVICE uint64_t prim_operand_at(uint64_t operand, uint32_t bytes)
{
    return operand + (bytes >> 4);
}

/* Before a product that reads registers written since the last one. */
PRIM_DEVICE void prim_wgmma_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

PRIM_DEVICE void prim_wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Waits until at most PENDING committed groups are not done. */
template <int PENDING>
PRIM_DEVICE void prim_wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

#define PRIM90_LIST_16 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define PRIM90_LIST_32                                                                  \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, " \
    "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define PRIM90_LIST_64                                                                  \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, " \
    "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "  \
    "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "  \
    "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"
#define PRIM90_LIST_96                                                                  \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, " \
    "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "  \
    "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "  \
    "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, %65, "  \
    "%66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, "  \
    "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95}"

#define PRIM90_REFS_8(c, i)                                                               \
    "+f"((c)[i]), "+f"((c)[i + 1]), "+f"((c)[i + 2]), "+f"((c)[i + 3]), "+f"((c)[i + 4]), \
        "+f"((c)[i + 5]), "+f"((c)[i + 6]), "+f"((c)[i + 7])
#define PRIM90_REFS_16(c, i) PRIM90_REFS_8(c, i), PRIM90_REFS_8(c, i + 8)
#define PRIM90_REFS_32(c, i) PRIM90_REFS_16(c, i), PRIM90_REFS_16(c, i + 16)
#define PRIM90_REFS_64(c, i) PRIM90_REFS_32(c, i), PRIM90_REFS_32(c, i + 32)
#define PRIM90_REFS_96(c, i) PRIM90_REFS_64(c, i), PRIM90_REFS_32(c, i + 64)

/*
 * c[64xN] = (add ? c : 0) + a[64x16] b[16xN], bf16 with fp32 sums.  Warp w of the group holds rows
 * 16w..16w+15, fragments as prim_mma's: c[4n..] are block n of 8 columns.  a comes from registers
 * or shared memory, b from shared memory.
 */
PRIM_DEVICE void prim_wgmma(float (&c)[16], const uint32_t (&a)[4], uint64_t b, bool add)
{
    asm volatile("{.reg .pred p; setp.ne.b32 p, %21, 0; "
                 "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 " PRIM90_LIST_16
                 ", {%16, %17, %18, %19}, %20, p, 1, 1, 0;}"
                 : PRIM90_REFS_16(c, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));
}

PRIM_DEVICE void prim_wgmma(float (&c)[16], uint64_t a, uint64_t b, bool add)
{
    asm volatile("{.reg .pred p; setp.ne.b32 p, %18, 0; "
                 "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 " PRIM90_LIST_16
                 ", %16, %17, p, 1, 1, 0, 0;}"
                 : PRIM90_REFS_16(c, 0)
                 : "l"(a), "l"(b), "r"((int)add));
}

PRIM_DEVICE void prim_wgmma(float (&c)[32], const uint32_t (&a)[4], uint64_t b, bool add)
{
    asm volatile("{.reg .pred p; setp.ne.b32 p, %37, 0; "
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " PRIM90_LIST_32
                 ", {%32, %33, %34, %35}, %36, p, 1, 1, 0;}"
                 : PRIM90_REFS_32(c, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));
}

PRIM_DEVICE void prim_wgmma(float (&c)[32], uint64_t a, uint64_t b, bool add)
{
    asm volatile("{.reg .pred p; setp.ne.b32 p, %34, 0; "
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " PRIM90_LIST_32
                 ", %32, %33, p, 1, 1, 0, 0;}"
                 : PRIM90_REFS_32(c, 0)
                 : "l"(a), "l"(b), "r"((int)add));
}

PRIM_DEVICE void prim_wgmma_transposed(float (&c)[64], const uint32_t (&a)[4], uint64_t b, bool add)
{
    asm volatile("{.reg .pred p; setp.ne.b32 p, %69, 0; "
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " PRIM90_LIST_64
                 ", {%64, %65, %66, %67}, %68, p, 1, 1, 1;}"
                 : PRIM90_REFS_64(c, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));
}

PRIM_DEVICE void prim_wgmma_transposed(float (&c)[96], uint64_t a, uint64_t b, bool add)
{
    asm volatile("{.reg .pred p; setp.ne.b32 p, %98, 0; "
                 "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 " PRIM90_LIST_96
                 ", %96, %97, p, 1, 1, 0, 1;}"
                 : PRIM90_REFS_96(c, 0)
                 : "l"(a), "l"(b), "r"((int)add));
}

#endif

#endif
