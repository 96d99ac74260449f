#include "bench/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fail.h"
#include "base/mem.h"
#include "config.h"
#include "kernels_hash.h"

#ifdef HAVE_CUDA
#include "bench/rig.h"
#include "gpu/cupti.h"
#endif

static int parse_ordinal(const char *name, int64_t *ordinal)
{
    if (text_to_int(name, ordinal) && *ordinal >= 0 && *ordinal < 1024)
        return FAIL_OK;
    return fail_set(FAIL_USAGE, "no such device: '%s' (a number, or " GPUSPEC_MODEL_PREFIX "NAME)",
                    name);
}

#ifdef HAVE_CUDA
static int open_gpu(struct target *target, int64_t ordinal, uint64_t seed)
{
    const struct cupti *cupti;
    int code;

    target->rig = mem_new(1, sizeof *target->rig);
    code = rig_open(target->rig, (int)ordinal, seed);
    if (code == FAIL_ENV)
        return fail_set(FAIL_ENV, "%s; or use -d " GPUSPEC_MODEL_PREFIX "NAME", fail_text());
    if (code != FAIL_OK)
        return code;
    target->spec = target->rig->device.spec;
    text_add(&target->spec_text, target->rig->device.spec_text.bytes);
    text_add(&target->label, target->spec.name);
    target->uuid = target->rig->device.uuid;
    target->driver = target->rig->device.driver;
    target->cuda = target->rig->device.cuda_driver;
    if (cupti_get(&cupti) == FAIL_OK) /* without it the passes say what is not measured */
        snprintf(target->cupti, sizeof target->cupti, "%u", cupti_api_version());
    return FAIL_OK;
}

static void close_gpu(struct target *target)
{
    if (target->rig)
        rig_close(target->rig);
    free(target->rig);
}
#else
static int open_gpu(struct target *target, int64_t ordinal, uint64_t seed)
{
    (void)target, (void)seed;
    return fail_set(FAIL_ENV,
                    "device %lld: this smscope was built without CUDA; use -d " GPUSPEC_MODEL_PREFIX
                    "NAME (smscope list devices)",
                    (long long)ordinal);
}

static void close_gpu(struct target *target)
{
    (void)target;
}
#endif

static int read_model(struct gpuspec *spec, const char *name, struct text *text)
{
    int code = gpuspec_read(spec, name, text);

    return code == FAIL_OK ? gpuspec_check_model(spec) : code;
}

int target_check_name(const char *name)
{
    const char *model = gpuspec_model_name(name);
    struct gpuspec spec;
    int64_t ordinal;

    return model ? read_model(&spec, model, NULL) : parse_ordinal(name, &ordinal);
}

int target_open(struct target *target, const char *name, uint64_t seed)
{
    const char *model = gpuspec_model_name(name);
    int64_t ordinal;
    int code;

    *target = (struct target){.spec_text = TEXT_INIT, .label = TEXT_INIT};
    target->uuid = target->driver = target->cuda = "";
    if (model) {
        text_add(&target->label, name);
        return read_model(&target->spec, model, &target->spec_text);
    }
    code = parse_ordinal(name, &ordinal);
    return code == FAIL_OK ? open_gpu(target, ordinal, seed) : code;
}

void target_close(struct target *target)
{
    close_gpu(target);
    text_free(&target->spec_text);
    text_free(&target->label);
}

void target_describe(struct target *target, const struct sweep *sweep, struct store_run *run)
{
    time_t now = time(NULL);
    struct tm utc;

    strftime(target->started_at, sizeof target->started_at, "%Y-%m-%dT%H:%M:%SZ",
             gmtime_r(&now, &utc));
    snprintf(target->cc, sizeof target->cc, "%d.%d", target->spec.cc_major, target->spec.cc_minor);
    *run = (struct store_run){
        .started_at = target->started_at,
        .command = sweep->command.bytes,
        .workload = sweep->workload->text,
        .seed = (int64_t)sweep->seed,
        .version = (char *)PACKAGE_VERSION,
        .kernels_hash = (char *)KERNELS_HASH,
        .device = target->label.bytes,
        .uuid = (char *)target->uuid,
        .cc = target->cc,
        .sm_count = target->spec.sm_count,
        .driver = (char *)target->driver,
        .cuda = (char *)target->cuda,
        .cupti = target->cupti,
        .spec = target->spec_text.bytes,
    };
}
