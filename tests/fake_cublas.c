/*
 * A libcublas.so of our own that multiplies nothing: it accepts exactly the product that smscope
 * measures.  $FAKE_CUBLAS "no-create": cublasCreate_v2 fails.
 */
#include <stdlib.h>
#include <string.h>

int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasSetStream_v2(void *handle, void *stream);
int cublasGemmEx(void *handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                 const void *a, int type_a, int lead_a, const void *b, int type_b, int lead_b,
                 const void *beta, void *c, int type_c, int lead_c, int compute, int algorithm);

enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_VALUE = 7 };

static int handle;
static int handles;
static void *used_stream;

int cublasCreate_v2(void **made)
{
    const char *setting = getenv("FAKE_CUBLAS");

    if (setting && strcmp(setting, "no-create") == 0)
        return NOT_INITIALIZED;
    handles++;
    *made = &handle;
    return SUCCESS;
}

int cublasDestroy_v2(void *old)
{
    if (old != &handle || handles != 1)
        return INVALID_VALUE;
    handles--;
    return SUCCESS;
}

int cublasSetStream_v2(void *of, void *stream)
{
    used_stream = stream;
    return of == &handle ? SUCCESS : INVALID_VALUE;
}

/* cublas_api.h and library_types.h: CUBLAS_OP_N 0, CUBLAS_OP_T 1, CUDA_R_16BF 14,
 * CUBLAS_COMPUTE_32F 68, CUBLAS_GEMM_DEFAULT -1. */
int cublasGemmEx(void *of, int op_a, int op_b, int m, int n, int k, const void *alpha,
                 const void *a, int type_a, int lead_a, const void *b, int type_b, int lead_b,
                 const void *beta, void *c, int type_c, int lead_c, int compute, int algorithm)
{
    const char *first = a;

    if (of != &handle || handles != 1 || !used_stream || op_a != 1 || op_b != 0 || algorithm != -1)
        return INVALID_VALUE;
    if (m != 8192 || n != m || k != m || lead_a != m || lead_b != m || lead_c != m)
        return INVALID_VALUE;
    if (type_a != 14 || type_b != 14 || type_c != 14 || compute != 68)
        return INVALID_VALUE;
    if (*(const float *)alpha != 1 || *(const float *)beta != 0)
        return INVALID_VALUE;
    if ((const char *)b != first + 8192L * 8192 * 2 || (const char *)c != first + 8192L * 8192 * 4)
        return INVALID_VALUE;
    return SUCCESS;
}
