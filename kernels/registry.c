#include <string.h>

#include "base/fail.h"
#include "kernels/hopper.h"
#include "kernels/kernel.h"
#include "kernels/mma.h"
#include "kernels/simt.h"
#include "kernels/splitk.h"

const struct kernel *const kernel_table[] = {
    &simt_kernel,           &mma_hopper_kernel,    &mma_kernel,
    &splitk_cluster_kernel, &splitk_hopper_kernel, &splitk_kernel,
};
const size_t kernel_count = sizeof kernel_table / sizeof kernel_table[0];

bool kernel_exists(const char *name)
{
    for (size_t i = 0; i < kernel_count; i++)
        if (strcmp(kernel_table[i]->name, name) == 0)
            return true;
    return false;
}

int kernel_find(const struct kernel **found, const char *name, const char *variant,
                const struct kernel_shape *shape, const struct gpuspec *spec)
{
    bool any = strcmp(variant, KERNEL_AUTO) == 0;
    int code = fail_set(FAIL_UNSUPPORTED, "kernel %s has no variant %s", name, variant);

    *found = NULL;
    for (size_t i = 0; i < kernel_count && code != FAIL_OK; i++) {
        const struct kernel *kernel = kernel_table[i];

        if (strcmp(kernel->name, name) != 0 || (!any && strcmp(kernel->variant, variant) != 0))
            continue;
        *found = kernel;
        code = kernel->supports(shape, spec);
    }
    return code;
}
