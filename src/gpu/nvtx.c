#include "gpu/nvtx.h"

#ifdef HAVE_NVTX

#include <nvtx3/nvToolsExt.h>

void nvtx_push(const char *name)
{
    (void)nvtxRangePushA(name);
}

void nvtx_pop(void)
{
    (void)nvtxRangePop();
}

#else

void nvtx_push(const char *name)
{
    (void)name;
}

void nvtx_pop(void)
{
}

#endif
