/*
 * cupti: CUPTI opened at run time into one struct of function pointers.
 *
 * Searched: $SMSCOPE_CUPTI (a full path, and nothing else if it is set), the soname on the loader's
 * path, the folders of installed toolkits ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda,
 * /usr/local/cuda-*: lib64, extras/CUPTI/lib64). libnvperf_host.so is loaded right after, by full
 * path, from the folder libcupti came from: CUPTI's own search for it fails where that folder is
 * not on the loader's path.
 */
#ifndef GPU_CUPTI_H
#define GPU_CUPTI_H

#include <stdint.h>

struct cupti; /* the table; defined in cupti_table.h for the files that call CUPTI */

/* The table, opened at first use.  FAIL_ENV with what was tried and the remedy;
 * a failure is not remembered. */
int cupti_get(const struct cupti **table);
/* Path of the library in use, "" if none is open. */
const char *cupti_path(void);
uint32_t cupti_api_version(void);    /* 0: none */
uint32_t cupti_header_version(void); /* this program was built with; 0: without CUPTI */
/* Whether range profiling (counters) was built in, and whether the open library has it. */
int cupti_has_range(void);

/* CUDA release of an API version: major * 100 + minor (130001 -> 1300, 24 ->
 * 1206), 0 if the number is not known. */
int cupti_cuda_release(uint32_t api_version);

/* FAIL_ENV message for a CUptiResult: "what: NAME (number): cause; remedy"
 * where these are known. */
int cupti_fail(int result, const char *what);

#endif
