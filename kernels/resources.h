/*
 * resources: what the compiler reported for each device function, from kernels/resources.tsv
 * (compiled in by make).
 */
#ifndef KERNELS_RESOURCES_H
#define KERNELS_RESOURCES_H

#include <stdbool.h>

struct plan_launch;

struct resources_row {
    const char *arch; /* "80", "90a", "100", "120" */
    const char *function;
    int registers;
    int spill_bytes;
    int smem_static_bytes;
    int barriers;
};

/* The machine code that a GPU of this compute capability would run: "80" for 8.x, "90a" for 9.0,
 * "100" for 10.x, "120" for 12.x; NULL for others, which compile PTX at run time. */
const char *resources_arch(int cc_major, int cc_minor);

/* The row of a function for an architecture (NULL: none); rows end with one without a function. */
const struct resources_row *resources_search(const struct resources_row *rows, const char *function,
                                             const char *arch);

/* The same in the recorded table; NULL if the table has none. */
const struct resources_row *resources_find(const char *function, int cc_major, int cc_minor);
const char *resources_nvcc(void); /* nvcc version of the table, e.g. "13.0"; "" for an empty one */

/*
 * Fills registers, barriers and static shared memory of a launch by its name; without a row
 * registers get 65536 / (blocks_per_sm x threads) rounded down to 8 and at most 255, from the
 * kernel's __launch_bounds__, marked planned, and the rest stays as it is.
 */
void resources_fill(struct plan_launch *launch, int cc_major, int cc_minor,
                    int bounds_blocks_per_sm);

#endif
