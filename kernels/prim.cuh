/*
 * prim: the few machine operations that device code needs, by name.
 *
 * Device code uses these and plain C++17 only, so that tests can run it on a CPU:
 * tests/fiber/prim.h defines the same names (and this header's guard).  Everything here exists from
 * compute capability 8.0 on.
 */
#ifndef KERNELS_PRIM_CUH
#define KERNELS_PRIM_CUH

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime.h>

#include "data/plan.h"

#define PRIM_DEVICE static __device__ __forceinline__
#define PRIM_ALL 0xffffffffu /* every lane of a warp */

/* Four 32-bit words that travel as one 16-byte access. */
struct prim_quad {
    uint32_t word[4];
};

struct prim_pair {
    uint32_t word[2];
};

PRIM_DEVICE struct prim_quad prim_load16(const void *from)
{
    uint4 value = *(const uint4 *)from;
    return {{value.x, value.y, value.z, value.w}};
}

PRIM_DEVICE struct prim_pair prim_load8(const void *from)
{
    uint2 value = *(const uint2 *)from;
    return {{value.x, value.y}};
}

PRIM_DEVICE void prim_store16(void *to, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    *(uint4 *)to = make_uint4(a, b, c, d);
}

PRIM_DEVICE void prim_store16(void *to, float a, float b, float c, float d)
{
    *(float4 *)to = make_float4(a, b, c, d);
}

PRIM_DEVICE void prim_store8(void *to, uint32_t a, uint32_t b)
{
    *(uint2 *)to = make_uint2(a, b);
}

/* The block's dynamic shared memory. */
PRIM_DEVICE unsigned char *prim_smem()
{
    extern __shared__ __align__(1024) unsigned char prim_smem_bytes[];
    return prim_smem_bytes;
}

PRIM_DEVICE uint32_t prim_smem_address(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

/* Asynchronous copies to shared memory; zeros arrive when !valid (from must still be a legal
 * address). */
PRIM_DEVICE void prim_copy16(void *to, const void *from, bool valid)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(prim_smem_address(to)),
                 "l"(from), "r"(valid ? 16 : 0)
                 : "memory");
}

PRIM_DEVICE void prim_copy8(void *to, const void *from, bool valid)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(prim_smem_address(to)),
                 "l"(from), "r"(valid ? 8 : 0)
                 : "memory");
}

PRIM_DEVICE void prim_copy4(void *to, const void *from, bool valid)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(prim_smem_address(to)),
                 "l"(from), "r"(valid ? 4 : 0)
                 : "memory");
}

PRIM_DEVICE void prim_copy_commit()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until at most PENDING of this thread's newest groups are in flight. */
template <int PENDING>
PRIM_DEVICE void prim_copy_wait()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

PRIM_DEVICE void prim_sync_block()
{
    __syncthreads();
}

PRIM_DEVICE void prim_sync_warp()
{
    __syncwarp();
}

template <typename T>
PRIM_DEVICE T prim_shuffle(T value, uint32_t lane)
{
    return __shfl_sync(PRIM_ALL, value, (int)lane);
}

template <typename T>
PRIM_DEVICE T prim_shuffle_xor(T value, uint32_t mask)
{
    return __shfl_xor_sync(PRIM_ALL, value, (int)mask);
}

PRIM_DEVICE uint32_t prim_ballot(bool value)
{
    return __ballot_sync(PRIM_ALL, value);
}

PRIM_DEVICE uint32_t prim_count(uint32_t bits)
{
    return (uint32_t)__popc(bits);
}

PRIM_DEVICE bool prim_any(bool value)
{
    return __any_sync(PRIM_ALL, value) != 0;
}

/* 2^x, relative error about 2^-22; 2^-inf is 0. */
PRIM_DEVICE float prim_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

PRIM_DEVICE float prim_log2(float x)
{
    return log2f(x);
}

/* A product that is never contracted into a fused multiply-add. */
PRIM_DEVICE float prim_multiply(float a, float b)
{
    return __fmul_rn(a, b);
}

PRIM_DEVICE float prim_infinity()
{
    return __int_as_float(0x7f800000);
}

PRIM_DEVICE float prim_as_float(uint32_t bits)
{
    return __uint_as_float(bits);
}

/* Two fp32 as bf16, round to nearest even; low in the lower half. */
PRIM_DEVICE uint32_t prim_pack_bf16(float low, float high)
{
    uint32_t packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
}

/* Product of two bf16 pairs; a mul.bf16x2 exists from 9.0 on only, adding -0 changes no product. */
PRIM_DEVICE uint32_t prim_multiply_bf16x2(uint32_t a, uint32_t b)
{
    uint32_t product;
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(product) : "r"(a), "r"(b), "r"(0x80008000u));
    return product;
}

/* Two fp16 halves of a word as fp32; exact. */
PRIM_DEVICE void prim_unpack_f16(uint32_t pair, float *low, float *high)
{
    asm("{.reg .f16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}"
        : "=f"(*low), "=f"(*high)
        : "r"(pair));
}

/* Bytes of {a, b} picked by the selector's nibbles, lowest first: 0..3 are a's, 4..7 b's. */
PRIM_DEVICE uint32_t prim_permute(uint32_t a, uint32_t b, uint32_t selector)
{
    return __byte_perm(a, b, selector);
}

/*
 * c[16x8] += a[16x16] b[16x8], bf16 with fp32 accumulators, held by a warp.  With g = lane / 4, t =
 * lane % 4: a = rows g, g+8, g, g+8 at columns 2t..2t+1 (first two) and 2t+8..2t+9; b = column g at
 * rows 2t..2t+1 and 2t+8..2t+9; c = row g at columns 2t, 2t+1, then row g+8.
 */
PRIM_DEVICE void prim_mma(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/*
 * A launch that overlaps (plan.h) waits here until the one before it has ended and its writes can
 * be read; that one lets it start by prim_grid_release(), from every block.
 */
PRIM_DEVICE void prim_grid_wait()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

PRIM_DEVICE void prim_grid_release()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Enqueues a kernel of one parameter as planned, its clusters along z; safe while the stream is
 * being captured. */
template <typename Params>
static int prim_launch(void (*function)(Params), const struct plan_launch *launch,
                       const Params *params, void *stream)
{
    void *arguments[] = {const_cast<Params *>(params)};
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};
    cudaError_t error =
        cudaFuncSetAttribute((const void *)function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)launch->smem_dynamic_bytes);

    config.gridDim = dim3(launch->grid[0], launch->grid[1], launch->grid[2]);
    config.blockDim = dim3(launch->block[0], launch->block[1], launch->block[2]);
    config.dynamicSmemBytes = launch->smem_dynamic_bytes;
    config.stream = (cudaStream_t)stream;
    config.attrs = attributes;
    if (launch->cluster > 1) {
        cudaLaunchAttribute *attribute = &attributes[config.numAttrs++];

        attribute->id = cudaLaunchAttributeClusterDimension;
        attribute->val.clusterDim.x = attribute->val.clusterDim.y = 1;
        attribute->val.clusterDim.z = launch->cluster;
    }
    if (launch->overlaps) {
        cudaLaunchAttribute *attribute = &attributes[config.numAttrs++];

        attribute->id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute->val.programmaticStreamSerializationAllowed = 1;
    }
    if (error == cudaSuccess)
        error = cudaLaunchKernelExC(&config, (const void *)function, arguments);
    if (error != cudaSuccess)
        cudaGetLastError();
    return (int)error;
}

#endif
