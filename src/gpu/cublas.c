#include "gpu/cublas.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda.h>

#include "base/fail.h"
#include "gpu/toolkit.h"

/* cublas_v2.h is not part of every toolkit; these are its names, types and numbers. */
typedef struct cublasContext *cublas_handle;
enum {
    CUBLAS_SUCCESS = 0,
    CUBLAS_OP_N = 0,
    CUBLAS_OP_T = 1,
    CUBLAS_BF16 = 14, /* CUDA_R_16BF */
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_GEMM_DEFAULT = -1
};

static struct {
    void *library;
    int (*create)(cublas_handle *handle);
    int (*destroy)(cublas_handle handle);
    int (*set_stream)(cublas_handle handle, void *stream);
    int (*gemm)(cublas_handle handle, int op_a, int op_b, int m, int n, int k, const void *alpha,
                const void *a, int type_a, int lead_a, const void *b, int type_b, int lead_b,
                const void *beta, void *c, int type_c, int lead_c, int compute, int algorithm);
    cublas_handle handle;
} cublas;

static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);

    memcpy(function, &symbol,
           sizeof symbol); /* ISO C has no cast from an object to a function pointer */
    return symbol != NULL;
}

static int open_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return fail_set(FAIL_NOTHING, "%s", dlerror());
    if (!find(library, "cublasCreate_v2", &cublas.create) ||
        !find(library, "cublasDestroy_v2", &cublas.destroy) ||
        !find(library, "cublasSetStream_v2", &cublas.set_stream) ||
        !find(library, "cublasGemmEx", &cublas.gemm)) {
        dlclose(library);
        return fail_set(FAIL_ENV,
                        "%s lacks functions that are needed; use cuBLAS of CUDA 11 or newer", path);
    }
    cublas.library = library;
    return FAIL_OK;
}

static int open_anywhere(void)
{
    static const char *const places[] = {"lib64", "lib", "targets/x86_64-linux/lib", NULL};
    const char *chosen = getenv("SMSCOPE_CUBLAS");
    char soname[32];
    const char *const names[] = {soname, "libcublas.so", NULL};
    int code;

    if (chosen && chosen[0]) {
        code = open_library(chosen);
        return code == FAIL_NOTHING
                   ? fail_set(FAIL_ENV, "SMSCOPE_CUBLAS names a library that cannot be loaded: %s",
                              fail_text())
                   : code;
    }
    snprintf(soname, sizeof soname, "libcublas.so.%d", CUDA_VERSION / 1000);
    code = open_library(soname);
    if (code == FAIL_NOTHING)
        code = toolkit_search(places, names, open_library);
    if (code == FAIL_NOTHING)
        code = fail_set(
            FAIL_ENV,
            "cuBLAS is not there: no %s on the loader's path, in $CUDA_HOME, $CUDA_PATH or "
            "/usr/local/cuda*; install it (apt-get install libcublas-%d-%d) or set SMSCOPE_CUBLAS "
            "to the full path of libcublas.so",
            soname, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    return code;
}

static int check(int status, const char *what)
{
    return status == CUBLAS_SUCCESS ? FAIL_OK
                                    : fail_set(FAIL_ENV, "%s: cuBLAS status %d", what, status);
}

int cublas_open(void *stream)
{
    int code = cublas.library ? FAIL_OK : open_anywhere();

    if (code == FAIL_OK)
        code = check(cublas.create(&cublas.handle), "cublasCreate");
    if (code == FAIL_OK)
        code = check(cublas.set_stream(cublas.handle, stream), "cublasSetStream");
    return code;
}

void cublas_close(void)
{
    if (cublas.handle)
        (void)cublas.destroy(cublas.handle);
    cublas.handle = NULL;
}

int cublas_multiply(const void *a, const void *b, void *c, int n)
{
    static const float one = 1, zero = 0;

    return check(cublas.gemm(cublas.handle, CUBLAS_OP_T, CUBLAS_OP_N, n, n, n, &one, a, CUBLAS_BF16,
                             n, b, CUBLAS_BF16, n, &zero, c, CUBLAS_BF16, n, CUBLAS_COMPUTE_32F,
                             CUBLAS_GEMM_DEFAULT),
                 "cublasGemmEx");
}
