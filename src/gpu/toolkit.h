/*
 * toolkit: where a library of the CUDA toolkit may be that is opened at run time.
 */
#ifndef GPU_TOOLKIT_H
#define GPU_TOOLKIT_H

/* Opens the library at path.  FAIL_NOTHING: there is none, look on; anything else ends the search.
 */
typedef int toolkit_open(const char *path);

/*
 * Calls open for the names (NULL-terminated) in the places (folders below a toolkit, likewise) of
 * $CUDA_HOME, $CUDA_PATH, /usr/local/cuda and /usr/local/cuda-*, the newest first.
 */
int toolkit_search(const char *const *places, const char *const *names, toolkit_open *open);

#endif
