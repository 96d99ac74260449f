/*
 * mem: host allocation that does not return on failure.
 *
 * Small host allocations (names, tables, lists): running out of memory prints one line on stderr
 * and exits with code 3.  Large buffers whose size follows from the user's axes use malloc directly
 * and fail the point.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>

/* Zeroed memory for count elements of size bytes; overflow of the product
 * counts as out of memory. */
void *mem_new(size_t count, size_t size);

/* Grows (or shrinks) an array to count elements; new elements are not initialised. */
void *mem_resize(void *array, size_t count, size_t size);

char *mem_strdup(const char *text);

#endif
