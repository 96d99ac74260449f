#include "data/point.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/mem.h"

enum { POINTS_MOST = 1000000 }; /* repeats count */

/* One point_expand() under way. */
struct expansion {
    struct point_list *list;
    size_t room;  /* of list->points */
    size_t asked; /* points so far, repeats included */
    void *keys;   /* tsearch() tree of the points' keys */
    struct axis_list defaults[AXIS_COUNT];
    const struct point_kernel *kernels;
    size_t kernel_count;
    const struct workload_section *section;
};

static int compare_keys(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void keep_key(void *key)
{
    (void)key; /* the points own the keys */
}

static const struct point_kernel *find_kernel(const struct expansion *expansion, const char *name)
{
    for (size_t i = 0; i < expansion->kernel_count; i++)
        if (strcmp(expansion->kernels[i].name, name) == 0)
            return &expansion->kernels[i];
    return NULL;
}

static int refuse_kernel(const struct expansion *expansion, const struct axis_value *asked)
{
    struct text known = TEXT_INIT;
    for (size_t i = 0; i < expansion->kernel_count; i++)
        text_addf(&known, "%s, ", expansion->kernels[i].name);
    struct text name = TEXT_INIT;
    axis_add_text(&name, asked);
    int code = fail_set(FAIL_USAGE, "section [%s]: there is no kernel '%s'; accepted: %sall",
                        expansion->section->name, name.bytes, known.bytes);
    text_free(&name);
    text_free(&known);
    return code;
}

static void add_kernel(struct axis_list *names, const char *name)
{
    struct axis_value value = {0};
    size_t length = strnlen(name, AXIS_WORD_ROOM - 1);
    memcpy(value.word, name, length);
    names->values = mem_resize(names->values, names->count + 1, sizeof *names->values);
    names->values[names->count++] = value;
}

/* The kernel axis with "all" written out. */
static int name_kernels(const struct expansion *expansion, const struct axis_list *asked,
                        struct axis_list *names)
{
    for (size_t i = 0; i < asked->count; i++) {
        const struct axis_value *value = &asked->values[i];
        if (axis_is_word(value, "all"))
            for (size_t k = 0; k < expansion->kernel_count; k++)
                add_kernel(names, expansion->kernels[k].name);
        else if (find_kernel(expansion, value->word) != NULL)
            add_kernel(names, value->word);
        else
            return refuse_kernel(expansion, value);
    }
    return FAIL_OK;
}

static bool applies(const struct point *point, enum axis_id id, uint32_t reads)
{
    switch (id) {
    case AXIS_KERNEL: /* these say what is measured and how; every kernel has them */
    case AXIS_CONCURRENCY:
    case AXIS_BATCH:
    case AXIS_CACHE:
    case AXIS_LAUNCH:
        return true;
    case AXIS_EXTRA_LENGTH:
    case AXIS_EXTRA_PAGE:
        if (point->asked[AXIS_EXTRA_TOPK].number == 0)
            return false;
        break;
    default:
        break;
    }
    return (reads >> id & 1) != 0;
}

/* The smallest bucket that holds the requests; the largest if none does. */
static uint32_t choose_bucket(const struct axis_list *buckets, uint32_t requests)
{
    int64_t fits = INT64_MAX;
    int64_t largest = 0;
    for (size_t i = 0; i < buckets->count; i++) {
        int64_t bucket = buckets->values[i].number;
        if (bucket >= requests && bucket < fits)
            fits = bucket;
        if (bucket > largest)
            largest = bucket;
    }
    return (uint32_t)(fits < INT64_MAX ? fits : largest);
}

/* concurrency, batch and calls as numbers. */
static int resolve(struct point *point, const struct workload_section *section)
{
    const struct axis_value *concurrency = &point->asked[AXIS_CONCURRENCY];
    const struct axis_value *batch = &point->asked[AXIS_BATCH];
    bool follows = axis_is_word(concurrency, "batch");
    bool automatic = axis_is_word(batch, "auto");
    if (follows && automatic)
        return fail_set(FAIL_USAGE,
                        "section [%s]: concurrency=batch needs numbers in the batch axis, not auto",
                        section->name);
    point->concurrency = (uint32_t)(follows ? batch->number : concurrency->number);
    point->batch =
        automatic ? choose_bucket(&section->buckets, point->concurrency) : (uint32_t)batch->number;
    point->calls = (point->concurrency + point->batch - 1) / point->batch;
    return FAIL_OK;
}

static char *make_key(const struct point *point)
{
    struct text key = TEXT_INIT;
    for (enum axis_id id = 0; id < AXIS_COUNT; id++) {
        if (!point->applies[id] || axis_is_default(id, &point->asked[id]))
            continue;
        text_addf(&key, "%s%s=", key.length > 0 ? " " : "", axis_info(id)->name);
        axis_add_text(&key, &point->asked[id]);
    }
    return text_take(&key);
}

static int add_point(struct expansion *expansion, const struct axis_value *const values[])
{
    const struct workload_section *section = expansion->section;
    const struct point_kernel *kernel = find_kernel(expansion, values[AXIS_KERNEL]->word);
    struct point point = {.layers = section->layers, .rest_us = section->rest_us};
    for (enum axis_id id = 0; id < AXIS_COUNT; id++) {
        point.applies[id] = applies(&point, id, kernel->axes);
        point.asked[id] = point.applies[id] ? *values[id] : expansion->defaults[id].values[0];
    }
    int code = resolve(&point, section);
    if (code != FAIL_OK)
        return code;
    point.key = make_key(&point);
    char **kept = tsearch(point.key, &expansion->keys, compare_keys);
    if (kept == NULL || *kept != point.key) {
        free(point.key);
        return kept != NULL ? FAIL_OK : fail_set(FAIL_ENV, "out of memory");
    }
    struct point_list *list = expansion->list;
    if (list->count == expansion->room) {
        expansion->room = expansion->room > 0 ? 2 * expansion->room : 64;
        list->points = mem_resize(list->points, expansion->room, sizeof *list->points);
    }
    point.section = mem_strdup(section->name);
    list->points[list->count++] = point;
    return FAIL_OK;
}

static int count_points(struct expansion *expansion, const struct axis_list *const axes[])
{
    size_t left = POINTS_MOST - expansion->asked;
    size_t product = 1;
    for (enum axis_id id = 0; id < AXIS_COUNT; id++) {
        product *= axes[id]->count; /* a list is far too short to overflow this */
        if (product > left)
            return fail_set(FAIL_USAGE, "section [%s]: more than %d points in all",
                            expansion->section->name, POINTS_MOST);
    }
    expansion->asked += product;
    return FAIL_OK;
}

/* Counts up like an odometer whose last axis runs fastest; false after the last combination. */
static bool advance(size_t at[], const struct axis_list *const axes[])
{
    for (int id = AXIS_COUNT - 1; id >= 0; id--) {
        if (++at[id] < axes[id]->count)
            return true;
        at[id] = 0;
    }
    return false;
}

static int expand_axes(struct expansion *expansion, const struct axis_list *const axes[])
{
    int code = count_points(expansion, axes);
    size_t at[AXIS_COUNT] = {0};
    bool more = axes[AXIS_KERNEL]->count > 0;
    while (code == FAIL_OK && more) {
        const struct axis_value *values[AXIS_COUNT];
        for (enum axis_id id = 0; id < AXIS_COUNT; id++)
            values[id] = &axes[id]->values[at[id]];
        code = add_point(expansion, values);
        more = advance(at, axes);
    }
    return code;
}

static int expand_section(struct expansion *expansion, const struct workload_section *section)
{
    const struct axis_list *axes[AXIS_COUNT];
    for (enum axis_id id = 0; id < AXIS_COUNT; id++)
        axes[id] = section->axes[id].count > 0 ? &section->axes[id] : &expansion->defaults[id];
    expansion->section = section;
    struct axis_list kernels = {0};
    int code = name_kernels(expansion, axes[AXIS_KERNEL], &kernels);
    axes[AXIS_KERNEL] = &kernels;
    if (code == FAIL_OK)
        code = expand_axes(expansion, axes);
    axis_free(&kernels);
    return code;
}

int point_expand(struct point_list *list, const struct workload *workload,
                 const struct point_kernel *kernels, size_t count)
{
    *list = (struct point_list){0};
    struct expansion expansion = {.list = list, .kernels = kernels, .kernel_count = count};
    int code = FAIL_OK;
    for (enum axis_id id = 0; id < AXIS_COUNT && code == FAIL_OK; id++)
        code = axis_parse(id, axis_info(id)->fallback, &expansion.defaults[id]);
    for (size_t i = 0; i < workload->count && code == FAIL_OK; i++)
        code = expand_section(&expansion, &workload->sections[i]);
    tdestroy(expansion.keys, keep_key);
    for (enum axis_id id = 0; id < AXIS_COUNT; id++)
        axis_free(&expansion.defaults[id]);
    if (code != FAIL_OK)
        point_free(list);
    return code;
}

/* "name=value" of a key, length bytes long. */
static int read_word(struct point *point, const char *word, size_t length)
{
    struct text option = TEXT_INIT;
    struct axis_list values = {0};
    enum axis_id id = AXIS_COUNT;
    const char *items;
    text_add_bytes(&option, word, length);
    int code = axis_split(option.bytes, &id, &items);
    if (code == FAIL_OK)
        code = axis_parse(id, items, &values);
    if (code == FAIL_OK && values.count > 0)
        point->asked[id] = values.values[0];
    axis_free(&values);
    text_free(&option);
    return code;
}

static int read_words(struct point *point, const char *key)
{
    int code = FAIL_OK;
    while (code == FAIL_OK && *key != '\0') {
        size_t length = strcspn(key, " ");
        code = read_word(point, key, length);
        key += length;
        key += *key == ' ';
    }
    return code;
}

static int set_defaults(struct point *point)
{
    int code = FAIL_OK;
    for (enum axis_id id = 0; id < AXIS_COUNT && code == FAIL_OK; id++) {
        struct axis_list values = {0};
        code = axis_parse(id, axis_info(id)->fallback, &values);
        if (code == FAIL_OK)
            point->asked[id] = values.values[0];
        axis_free(&values);
    }
    return code;
}

int point_read_key(struct point *point, const char *key, uint32_t batch,
                   const struct point_kernel *kernels, size_t count)
{
    const struct axis_list bucket = {.values = &(struct axis_value){.number = batch}, .count = 1};
    const struct workload_section section = {.name = "", .buckets = bucket};
    *point = (struct point){.layers = 1};
    int code = set_defaults(point);
    if (code == FAIL_OK)
        code = read_words(point, key);
    const struct expansion known = {.kernels = kernels, .kernel_count = count};
    const struct point_kernel *kernel = find_kernel(&known, point->asked[AXIS_KERNEL].word);
    if (code != FAIL_OK || !kernel || batch == 0)
        return fail_set(FAIL_DATA, "there is no point '%s'", key);
    for (enum axis_id id = 0; id < AXIS_COUNT; id++)
        point->applies[id] = applies(point, id, kernel->axes);
    code = resolve(point, &section);
    point->key = code == FAIL_OK ? make_key(point) : NULL;
    if (point->key && strcmp(point->key, key) == 0 && point->batch == batch)
        return FAIL_OK;
    free(point->key);
    point->key = NULL;
    return fail_set(FAIL_DATA, "there is no point '%s'", key);
}

void point_free(struct point_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->points[i].section);
        free(list->points[i].key);
    }
    free(list->points);
    *list = (struct point_list){0};
}

int64_t point_number(const struct point *point, enum axis_id id, int64_t otherwise)
{
    const struct axis_value *value = &point->asked[id];
    return axis_is_word(value, NULL) ? otherwise : value->number;
}

bool point_find_in_key(const char *key, enum axis_id id, struct text *value)
{
    const char *name = axis_info(id)->name;
    size_t length = strlen(name);

    text_clear(value);
    for (const char *word = key; *word; word += strspn(word, " ")) {
        size_t word_length = strcspn(word, " ");

        if (strncmp(word, name, length) == 0 && word[length] == '=') {
            text_add_bytes(value, word + length + 1, word_length - length - 1);
            return true;
        }
        word += word_length;
    }
    return false;
}
