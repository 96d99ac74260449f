#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *memory)
{
    if (memory == NULL) {
        fputs("smscope: out of memory\n", stderr);
        exit(3);
    }
    return memory;
}

/* Zero elements still get a byte: a NULL answer then always means out of memory. */
void *mem_new(size_t count, size_t size)
{
    return checked(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *mem_resize(void *array, size_t count, size_t size)
{
    return checked(reallocarray(array, count > 0 ? count : 1, size > 0 ? size : 1));
}

char *mem_strdup(const char *text)
{
    return checked(strdup(text));
}
