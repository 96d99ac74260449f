#include "data/plan.h"

const char *plan_role_name(enum plan_role role)
{
    return role == PLAN_MAIN ? "main" : "combine";
}

uint64_t plan_blocks(const struct plan_launch *launch)
{
    return (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
}

uint32_t plan_threads(const struct plan_launch *launch)
{
    return launch->block[0] * launch->block[1] * launch->block[2];
}
