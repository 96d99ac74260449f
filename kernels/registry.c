#include <string.h>

#include "kernels/kernel.h"
#include "kernels/mma.h"
#include "kernels/simt.h"
#include "kernels/splitk.h"

const struct kernel *const kernel_table[] = {&simt_kernel, &mma_kernel, &splitk_kernel};
const size_t kernel_count = sizeof kernel_table / sizeof kernel_table[0];

const struct kernel *kernel_by_name(const char *name)
{
    for (size_t i = 0; i < kernel_count; i++)
        if (strcmp(kernel_table[i]->name, name) == 0)
            return kernel_table[i];
    return NULL;
}
