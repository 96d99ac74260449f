#include "analysis/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/point.h"

/* The key after "kernel=NAME", without the blank. */
const char *groups_name(const struct row *row)
{
    const char *rest = strchr(row->key, ' ');

    return rest ? rest + 1 : "";
}

void groups_show_axis(const struct row *row, enum axis_id id, struct text *value)
{
    bool resolved = id == AXIS_CONCURRENCY || id == AXIS_BATCH;

    if (!resolved && point_find_in_key(row->key, id, value))
        return;
    text_clear(value);
    text_add(value, row->point->axis[id] ? row->point->axis[id] : "");
}

static bool is_named(const struct groups *groups, enum axis_id id)
{
    struct text value = TEXT_INIT;
    bool named = id == AXIS_BATCH; /* batch=auto follows the concurrency */

    for (size_t c = 0; c < groups->count && !named; c++)
        named = point_find_in_key(groups->first[c]->key, id, &value);
    text_free(&value);
    return named;
}

static bool differs(const struct groups *groups, enum axis_id id)
{
    struct text first = TEXT_INIT, value = TEXT_INIT;
    bool same = true;

    for (size_t c = 0; c < groups->count && same; c++) {
        groups_show_axis(groups->first[c], id, c == 0 ? &first : &value);
        same = c == 0 || strcmp(first.bytes, value.bytes) == 0;
    }
    text_free(&first);
    text_free(&value);
    return !same;
}

static bool concurrency_is_batch(const struct groups *groups)
{
    for (size_t c = 0; c < groups->count; c++)
        if (groups->first[c]->concurrency != groups->first[c]->batch)
            return false;
    return true;
}

static void find_axes(struct groups *groups)
{
    bool one_of_two = concurrency_is_batch(groups);

    for (int i = AXIS_KERNEL + 1; i < AXIS_COUNT; i++) {
        enum axis_id id = (enum axis_id)i;

        if (!(id == AXIS_CONCURRENCY && one_of_two) && is_named(groups, id) && differs(groups, id))
            groups->axes[groups->axis_count++] = id;
    }
    if (groups->axis_count == 0)
        groups->axes[groups->axis_count++] = AXIS_BATCH;
}

void groups_find(struct groups *groups, const struct row *rows, size_t count)
{
    *groups = (struct groups){.first = mem_new(count + 1, sizeof(struct row *))};
    for (size_t i = 0; i < count; i++) {
        size_t c = 0;

        while (c < groups->count &&
               strcmp(groups_name(groups->first[c]), groups_name(&rows[i])) != 0)
            c++;
        if (c == groups->count)
            groups->first[groups->count++] = &rows[i];
    }
    find_axes(groups);
}

void groups_free(struct groups *groups)
{
    free(groups->first);
    *groups = (struct groups){0};
}
