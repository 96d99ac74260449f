#include "bench/resume.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/mem.h"
#include "bench/settings.h"
#include "config.h"
#include "data/gpuspec.h"
#include "kernels_hash.h"

/* A point of the file whose key is `key`, by the sorted places; NULL: none. */
struct index {
    const struct store_file *file;
    const struct store_point_read **sorted;
};

static int by_key(const void *a, const void *b)
{
    const struct store_point_read *const *left = a, *const *right = b;

    return strcmp((*left)->key, (*right)->key);
}

static void index_make(struct index *index, const struct store_file *file)
{
    index->file = file;
    index->sorted = mem_new(file->count, sizeof *index->sorted);
    for (size_t i = 0; i < file->count; i++)
        index->sorted[i] = &file->points[i];
    if (file->count > 0)
        qsort(index->sorted, file->count, sizeof *index->sorted, by_key);
}

static const struct store_point_read *index_find(const struct index *index, char *key)
{
    const struct store_point_read wanted = {.key = key}, *place = &wanted, **found = NULL;

    if (index->file->count > 0)
        found = bsearch(&place, index->sorted, index->file->count, sizeof *index->sorted, by_key);
    return found ? *found : NULL;
}

/* The batch that was used: what batch=auto came to is not in the key. */
static uint32_t batch_of(const struct store_point_read *point)
{
    int64_t batch;

    if (point->axis[AXIS_BATCH] && text_to_int(point->axis[AXIS_BATCH], &batch) && batch > 0 &&
        batch <= UINT32_MAX)
        return (uint32_t)batch;
    return 0;
}

static int recall_points(struct resume *resume, const char *path)
{
    size_t kernel_total;
    struct point_kernel *kernels = sweep_kernels(&kernel_total);
    int code = FAIL_OK;

    resume->points.points = mem_new(resume->file.count, sizeof *resume->points.points);
    for (size_t i = 0; code == FAIL_OK && i < resume->file.count; i++) {
        const struct store_point_read *read = &resume->file.points[i];
        struct point *point = &resume->points.points[i];

        code = point_read_key(point, read->key, batch_of(read), kernels, kernel_total);
        if (code != FAIL_OK)
            code = fail_prefix("%s", path);
        point->section = mem_strdup(read->section);
        point->layers = read->layers;
        point->rest_us = read->rest_us;
        resume->points.count++;
    }
    free(kernels);
    return code;
}

/* The same key may still mean something else: what is not an axis is not in it. */
static int check_same(const struct store_point_read *has, const struct point *asked,
                      const char *path)
{
    if (has->layers != asked->layers)
        return fail_set(FAIL_USAGE, "%s has %s with layers = %g, not %g", path, has->key,
                        has->layers, asked->layers);
    if (has->rest_us != asked->rest_us)
        return fail_set(FAIL_USAGE, "%s has %s with rest_us = %g, not %g", path, has->key,
                        has->rest_us, asked->rest_us);
    if (batch_of(has) != asked->batch)
        return fail_set(FAIL_USAGE, "%s has %s with batch = %u, not %u", path, has->key,
                        batch_of(has), asked->batch);
    return FAIL_OK;
}

static void add_point(struct point_list *list, const struct point *point)
{
    list->points = mem_resize(list->points, list->count + 1, sizeof *list->points);
    list->points[list->count] = *point;
    list->points[list->count].key = mem_strdup(point->key);
    list->points[list->count].section = mem_strdup(point->section);
    list->count++;
}

static int add_points(struct resume *resume, const struct point_list *asked, const char *path)
{
    struct index index;
    int code = FAIL_OK;

    index_make(&index, &resume->file);
    for (size_t i = 0; code == FAIL_OK && i < asked->count; i++) {
        const struct store_point_read *has = index_find(&index, asked->points[i].key);

        if (has)
            code = check_same(has, &asked->points[i], path);
        else
            add_point(&resume->points, &asked->points[i]);
    }
    free(index.sorted);
    return code;
}

static int refuse(const char *path, const char *what, const char *was, const char *is)
{
    return fail_set(FAIL_USAGE, "%s is a run of another %s: %s, not %s", path, what,
                    *was ? was : "none", *is ? is : "none");
}

static int check_program(const struct store_run *run, const char *path)
{
    if (strcmp(run->version, PACKAGE_VERSION) != 0)
        return refuse(path, "smscope version", run->version, PACKAGE_VERSION);
    if (strcmp(run->kernels_hash, KERNELS_HASH) != 0)
        return refuse(path, "kernels_hash", run->kernels_hash, KERNELS_HASH);
    return FAIL_OK;
}

/* Of a model the name says all; of a GPU see resume_check_device(). */
static int take_up_device(struct sweep *sweep, const struct store_run *run, bool given)
{
    if (!given && gpuspec_model_name(run->device))
        sweep->device = run->device;
    if ((gpuspec_model_name(run->device) || gpuspec_model_name(sweep->device)) &&
        strcmp(run->device, sweep->device) != 0)
        return refuse(sweep->path.bytes, "device", run->device, sweep->device);
    return FAIL_OK;
}

static int take_up_seed(struct sweep *sweep, const struct store_run *run, bool given)
{
    if (!given)
        sweep->seed = (uint64_t)run->seed;
    if (sweep->seed != (uint64_t)run->seed)
        return fail_set(FAIL_USAGE, "%s is a run of another seed: %lld, not %lld",
                        sweep->path.bytes, (long long)run->seed, (long long)sweep->seed);
    return FAIL_OK;
}

int resume_take_up(struct resume *resume, struct sweep *sweep, const struct option_list *given)
{
    const char *path = sweep->path.bytes;
    int code = store_read(&resume->file, path);

    resume->points = (struct point_list){0};
    if (code == FAIL_OK)
        code = check_program(&resume->file.run, path);
    if (code == FAIL_OK)
        code = take_up_device(sweep, &resume->file.run, options_is_given(given, "device"));
    if (code == FAIL_OK)
        code = take_up_seed(sweep, &resume->file.run, options_is_given(given, "seed"));
    if (code == FAIL_OK)
        code = settings_take_up(&sweep->settings, given, &resume->file, path);
    if (code == FAIL_OK)
        code = recall_points(resume, path);
    if (code == FAIL_OK)
        code = add_points(resume, sweep->points, path);
    if (code != FAIL_OK)
        return code;
    sweep->run = &resume->file.run;
    sweep->points = &resume->points;
    sweep->done = 0;
    for (size_t i = 0; i < resume->file.count; i++)
        sweep->done += resume->file.points[i].status != STORE_PENDING &&
                       resume->file.points[i].status != STORE_RUNNING;
    return FAIL_OK;
}

void resume_free(struct resume *resume)
{
    point_free(&resume->points);
    store_file_free(&resume->file);
}

int resume_check_device(const struct store_run *run, const struct store_run *now, const char *path)
{
    const struct {
        const char *what, *was, *is;
    } facts[] = {
        {"device", run->device, now->device},      {"device (uuid)", run->uuid, now->uuid},
        {"driver", run->driver, now->driver},      {"CUDA version", run->cuda, now->cuda},
        {"CUPTI version", run->cupti, now->cupti},
    };

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (strcmp(facts[i].was, facts[i].is) != 0)
            return refuse(path, facts[i].what, facts[i].was, facts[i].is);
    if (gpuspec_model_name(now->device) && strcmp(run->spec, now->spec) != 0)
        return fail_set(FAIL_USAGE, "%s is a run of another device file: that of %s was changed",
                        path, now->device);
    return FAIL_OK;
}
