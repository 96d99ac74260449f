#include "analysis/select.h"

#include "base/fail.h"
#include "base/mem.h"
#include "data/axis.h"
#include "data/point.h"

#include <stdlib.h>
#include <string.h>

/* As asked for: what the key says, else the axis's default. */
static bool was_asked(const struct store_point_read *point, enum axis_id id, const char *item)
{
    struct text asked = TEXT_INIT;
    bool named = point_find_in_key(point->key, id, &asked), same;

    same = strcmp(named ? asked.bytes : axis_info(id)->fallback, item) == 0;
    text_free(&asked);
    return same && (named || point->axis[id]);
}

static bool was_used(const struct store_point_read *point, enum axis_id id, const char *item)
{
    const char *used = point->axis[id], *batch = point->axis[AXIS_BATCH];

    if (!used)
        return false;
    if (id == AXIS_KERNEL && strcmp(item, "all") == 0)
        return true;
    if (id == AXIS_CONCURRENCY && strcmp(item, "batch") == 0)
        return batch && strcmp(used, batch) == 0;
    return strcmp(used, item) == 0;
}

static bool has_any(const struct store_point_read *point, enum axis_id id,
                    const struct axis_list *items)
{
    struct text item = TEXT_INIT;
    bool has = false;

    for (size_t i = 0; i < items->count && !has; i++) {
        text_clear(&item);
        axis_add_text(&item, &items->values[i]);
        has = was_asked(point, id, item.bytes) || was_used(point, id, item.bytes);
    }
    text_free(&item);
    return has;
}

static int apply(const struct store_file *file, const char *option, bool *keep)
{
    struct axis_list items = {0};
    enum axis_id id;
    const char *text;
    int code = axis_split(option, &id, &text);

    if (code == FAIL_OK)
        code = axis_parse(id, text, &items);
    for (size_t i = 0; code == FAIL_OK && i < file->count; i++)
        keep[i] = keep[i] && has_any(&file->points[i], id, &items);
    axis_free(&items);
    return code;
}

int select_points(struct store_file *file, const char *const *options, size_t count)
{
    bool *keep = mem_new(file->count + 1, sizeof *keep);
    size_t asked = file->count;
    int code = FAIL_OK;

    memset(keep, true, file->count);
    for (size_t i = 0; code == FAIL_OK && i < count; i++)
        code = apply(file, options[i], keep);
    if (code == FAIL_OK)
        store_keep_points(file, keep);
    if (code == FAIL_OK && asked > 0 && file->count == 0)
        code = fail_set(FAIL_NOTHING, "none of the %zu points has these axis values", asked);
    free(keep);
    return code;
}
