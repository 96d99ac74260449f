#include "kernels/resources.h"

#include <stddef.h>
#include <string.h>

#include "data/plan.h"
#include "resources_table.h"

#ifndef RESOURCES_NVCC
#define RESOURCES_NVCC ""
#endif

static const struct resources_row table[] = {
#ifdef RESOURCES_ROWS
    RESOURCES_ROWS,
#endif
    {NULL, NULL, 0, 0, 0, 0}};

const char *resources_arch(int cc_major, int cc_minor)
{
    switch (cc_major) {
    case 8:
        return "80";
    case 9:
        return cc_minor == 0 ? "90a" : NULL;
    case 10:
        return "100";
    case 12:
        return "120";
    default:
        return NULL;
    }
}

const struct resources_row *resources_search(const struct resources_row *rows, const char *function,
                                             const char *arch)
{
    if (!arch)
        return NULL;
    for (; rows->function; rows++)
        if (strcmp(rows->function, function) == 0 && strcmp(rows->arch, arch) == 0)
            return rows;
    return NULL;
}

const struct resources_row *resources_find(const char *function, int cc_major, int cc_minor)
{
    return resources_search(table, function, resources_arch(cc_major, cc_minor));
}

const char *resources_nvcc(void)
{
    return RESOURCES_NVCC;
}

static int bounded_registers(const struct plan_launch *launch, int blocks_per_sm)
{
    uint32_t most = 65536 / ((uint32_t)blocks_per_sm * plan_threads(launch)) / 8 * 8;

    return most < 255 ? (int)most : 255;
}

void resources_fill(struct plan_launch *launch, int cc_major, int cc_minor,
                    int bounds_blocks_per_sm)
{
    const struct resources_row *row = resources_find(launch->name, cc_major, cc_minor);

    launch->registers_planned = !row;
    if (!row) {
        launch->registers = bounded_registers(launch, bounds_blocks_per_sm);
        return;
    }
    launch->registers = row->registers;
    launch->barriers = row->barriers;
    launch->smem_static_bytes = (uint32_t)row->smem_static_bytes;
}
