#include "data/workload.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/mem.h"
#include "data/datadir.h"
#include "data/ini.h"

static void copy_list(struct axis_list *to, const struct axis_list *from)
{
    axis_free(to);
    if (from->count == 0)
        return;
    to->count = from->count;
    to->values = mem_new(from->count, sizeof *to->values);
    memcpy(to->values, from->values, from->count * sizeof *to->values);
}

static void free_section(struct workload_section *section)
{
    for (enum axis_id id = 0; id < AXIS_COUNT; id++)
        axis_free(&section->axes[id]);
    axis_free(&section->buckets);
    free(section->name);
}

/* NaN: not given, until finish(). */
static void add_section(struct workload *workload, const char *name)
{
    size_t count = workload->count + 1;
    workload->sections = mem_resize(workload->sections, count, sizeof *workload->sections);
    workload->sections[workload->count++] =
        (struct workload_section){.name = mem_strdup(name), .layers = NAN, .rest_us = NAN};
}

static int take_layers(const char *value, double *layers)
{
    double number;
    if (!text_to_real(value, &number) || number <= 0)
        return fail_set(FAIL_USAGE, "layers: '%s'; accepted: a number above 0", value);
    *layers = number;
    return FAIL_OK;
}

static int take_rest(const char *value, double *rest_us)
{
    double number;
    if (!text_to_real(value, &number) || number < 0)
        return fail_set(FAIL_USAGE, "rest_us: '%s'; accepted: microseconds, 0 or more", value);
    *rest_us = number;
    return FAIL_OK;
}

static int take_buckets(const char *value, struct axis_list *buckets)
{
    if (axis_parse(AXIS_BATCH, value, buckets) != FAIL_OK)
        return fail_prefix("buckets");
    for (size_t i = 0; i < buckets->count; i++)
        if (axis_is_word(&buckets->values[i], NULL))
            return fail_set(FAIL_USAGE, "buckets: '%s'; accepted: numbers only",
                            buckets->values[i].word);
    return FAIL_OK;
}

static int take_entry(void *user, const char *name, const char *key, const char *value, int line)
{
    (void)line;
    struct workload *workload = user;
    if (key == NULL) {
        add_section(workload, name);
        return FAIL_OK;
    }
    struct workload_section *section = &workload->sections[workload->count - 1];
    if (strcmp(key, "layers") == 0)
        return take_layers(value, &section->layers);
    if (strcmp(key, "rest_us") == 0)
        return take_rest(value, &section->rest_us);
    if (strcmp(key, "buckets") == 0)
        return take_buckets(value, &section->buckets);
    enum axis_id id = axis_by_name(key);
    if (id < AXIS_COUNT)
        return axis_parse(id, value, &section->axes[id]);

    struct text names = TEXT_INIT;
    for (id = 0; id < AXIS_COUNT; id++)
        text_addf(&names, "%s, ", axis_info(id)->name);
    int code = fail_set(FAIL_USAGE, "unknown key '%s'; known are %slayers, rest_us, buckets", key,
                        names.bytes);
    text_free(&names);
    return code;
}

static void inherit(struct workload_section *section, const struct workload_section *global)
{
    for (enum axis_id id = 0; id < AXIS_COUNT; id++)
        if (section->axes[id].count == 0)
            copy_list(&section->axes[id], &global->axes[id]);
    if (section->buckets.count == 0)
        copy_list(&section->buckets, &global->buckets);
    if (isnan(section->layers))
        section->layers = global->layers;
    if (isnan(section->rest_us))
        section->rest_us = global->rest_us;
}

/* [global], wherever it stands, gives to the others and goes; alone it stays. */
static void apply_global(struct workload *workload)
{
    size_t at = 0;
    while (at < workload->count && strcmp(workload->sections[at].name, "global") != 0)
        at++;
    if (at == workload->count || workload->count == 1)
        return;
    struct workload_section global = workload->sections[at];
    workload->count--;
    memmove(&workload->sections[at], &workload->sections[at + 1],
            (workload->count - at) * sizeof global);
    for (size_t i = 0; i < workload->count; i++)
        inherit(&workload->sections[i], &global);
    free_section(&global);
}

static int fill_in(struct workload *workload)
{
    int code = FAIL_OK;
    for (size_t i = 0; i < workload->count && code == FAIL_OK; i++) {
        struct workload_section *section = &workload->sections[i];
        if (isnan(section->layers))
            section->layers = 1;
        if (isnan(section->rest_us))
            section->rest_us = 0;
        if (section->buckets.count == 0)
            code = axis_parse(AXIS_BATCH, "1:512:x2", &section->buckets);
    }
    return code;
}

/* "workloads/default.ini" -> "default" */
static char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = mem_strdup(slash != NULL ? slash + 1 : path);
    size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".ini") == 0)
        name[length - 4] = '\0';
    return name;
}

int workload_parse(struct workload *workload, const char *name, const char *text, size_t length)
{
    *workload = (struct workload){.name = base_name(name), .text = mem_new(length + 1, 1)};
    memcpy(workload->text, text, length);
    int code = ini_read(name, text, length, take_entry, workload);
    if (code == FAIL_OK && workload->count == 0)
        code = fail_set(FAIL_USAGE, "%s:1: no [section]; a workload has at least one", name);
    if (code == FAIL_OK) {
        apply_global(workload);
        code = fill_in(workload);
    }
    if (code != FAIL_OK)
        workload_free(workload);
    return code;
}

int workload_read(struct workload *workload, const char *name)
{
    *workload = (struct workload){0};
    struct text path = TEXT_INIT;
    struct text text = TEXT_INIT;
    int code = datadir_find(&path, "workloads", name, ".ini");
    if (code == FAIL_OK)
        code = text_read_file(&text, path.bytes);
    if (code == FAIL_OK)
        code = workload_parse(workload, path.bytes, text.bytes, text.length);
    text_free(&text);
    text_free(&path);
    return code;
}

int workload_from_axes(struct workload *workload)
{
    *workload = (struct workload){.name = mem_strdup("axes"), .text = mem_strdup("")};
    add_section(workload, "axes");
    return fill_in(workload);
}

int workload_override(struct workload *workload, const char *option)
{
    enum axis_id id;
    const char *items;
    struct axis_list list = {0};
    int code = axis_split(option, &id, &items);
    if (code == FAIL_OK)
        code = axis_parse(id, items, &list);
    for (size_t i = 0; i < workload->count && code == FAIL_OK; i++)
        copy_list(&workload->sections[i].axes[id], &list);
    axis_free(&list);
    return code;
}

void workload_free(struct workload *workload)
{
    for (size_t i = 0; i < workload->count; i++)
        free_section(&workload->sections[i]);
    free(workload->sections);
    free(workload->name);
    free(workload->text);
    *workload = (struct workload){0};
}
