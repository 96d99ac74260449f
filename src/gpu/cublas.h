/*
 * cublas: one matrix product by the toolkit's cuBLAS, opened at run time ($SMSCOPE_CUBLAS, the
 * soname, the toolkit's folders).
 */
#ifndef GPU_CUBLAS_H
#define GPU_CUBLAS_H

/* Everything is queued on stream.  FAIL_ENV: there is no cuBLAS that can be used.  One at a time.
 */
int cublas_open(void *stream);
void cublas_close(void);

/* Enqueues C = A x B^T of n x n matrices on the device, bf16 with sums in fp32: 2 n^3 flops. */
int cublas_multiply(const void *a, const void *b, void *c, int n);

#endif
