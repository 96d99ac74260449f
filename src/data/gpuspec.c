#include "data/gpuspec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/mem.h"
#include "data/datadir.h"
#include "data/ini.h"

enum kind { KIND_NAME, KIND_CC, KIND_INT, KIND_REAL, KIND_ASSUMED };

/* A key of [gpu].  Bounds are generous: they catch a wrong unit, not a new GPU. */
struct figure {
    const char *name;
    size_t offset;
    enum kind kind;
    double least, most;
};

#define FIELD(member) #member, offsetof(struct gpuspec, member)

static const struct figure figures[] = {
    {FIELD(name), KIND_NAME, 0, 0},
    {"compute_capability", offsetof(struct gpuspec, cc_major), KIND_CC, 0, 0},
    {FIELD(sm_count), KIND_INT, 1, 4096},
    {FIELD(max_warps_per_sm), KIND_INT, 1, 256},
    {FIELD(max_blocks_per_sm), KIND_INT, 1, 256},
    {FIELD(regs_per_sm), KIND_INT, 1024, 1 << 20},
    {FIELD(smem_per_sm_bytes), KIND_INT, 1024, 1 << 24},
    {FIELD(smem_per_block_optin_bytes), KIND_INT, 1024, 1 << 24},
    {FIELD(smem_reserved_bytes), KIND_INT, 0, 1 << 16},
    {FIELD(barriers_per_sm), KIND_INT, 0, 1024},
    {FIELD(l2_mb), KIND_REAL, 0.1, 1e4},
    {FIELD(memory_gb), KIND_REAL, 1, 1e5},
    {FIELD(mem_bw_gbs), KIND_REAL, 10, 1e6},
    {FIELD(boost_mhz), KIND_REAL, 100, 1e4},
    {FIELD(bf16_dense_fp32acc_tflops), KIND_REAL, 1, 1e5},
    {FIELD(mma_sync_tflops), KIND_REAL, 1, 1e5},
    {FIELD(fp32_tflops), KIND_REAL, 0.1, 1e5},
    {FIELD(l2_gb_per_s), KIND_REAL, 10, 1e6},
    {FIELD(dram_latency_ns), KIND_REAL, 10, 1e5},
    {FIELD(block_fixed_ns), KIND_REAL, 0, 1e6},
    {FIELD(launch_gap_ns), KIND_REAL, 0, 1e6},
    {FIELD(assumed), KIND_ASSUMED, 0, 0},
};

enum { FIGURES = sizeof figures / sizeof figures[0] };

static const char unknown[] = "unknown"; /* in a file what NaN is in the struct */

/* One gpuspec_parse() under way. */
struct parse {
    struct gpuspec *spec;
    const char *name;
    int section_line;       /* of [gpu]; 0: not met */
    int line[FIGURES];      /* 0: not met */
    bool sourced[FIGURES];  /* has its own entry in [source] */
    bool sourced_otherwise; /* [source] has a default */
};

/* Its place in figures[], or FIGURES. */
static size_t find_figure(const char *name)
{
    size_t at = 0;
    while (at < FIGURES && strcmp(figures[at].name, name) != 0)
        at++;
    return at;
}

static bool is_number(const struct figure *figure)
{
    return figure->kind == KIND_INT || figure->kind == KIND_REAL;
}

static void *field(struct gpuspec *spec, const struct figure *figure)
{
    return (char *)spec + figure->offset;
}

static double real_of(const struct gpuspec *spec, const struct figure *figure)
{
    double real;
    memcpy(&real, (const char *)spec + figure->offset, sizeof real);
    return real;
}

const char *gpuspec_model_name(const char *device)
{
    size_t prefix = strlen(GPUSPEC_MODEL_PREFIX);
    return strncmp(device, GPUSPEC_MODEL_PREFIX, prefix) == 0 ? device + prefix : NULL;
}

static int take_name(struct gpuspec *spec, const char *value)
{
    size_t length = strlen(value);
    if (length == 0 || length >= sizeof spec->name)
        return fail_set(FAIL_USAGE, "name: '%s'; accepted: 1 to %zu bytes", value,
                        sizeof spec->name - 1);
    memcpy(spec->name, value, length + 1);
    return FAIL_OK;
}

static int take_cc(struct gpuspec *spec, const char *value)
{
    size_t major = strspn(value, "0123456789");
    const char *rest = value + major;
    size_t minor = *rest == '.' ? strspn(rest + 1, "0123456789") : 0;
    if (major < 1 || major > 2 || minor != 1 || rest[2] != '\0')
        return fail_set(FAIL_USAGE, "compute_capability: '%s'; accepted: MAJOR.MINOR such as 9.0",
                        value);
    spec->cc_major = atoi(value);
    spec->cc_minor = rest[1] - '0';
    return FAIL_OK;
}

static int take_int(struct gpuspec *spec, const struct figure *figure, const char *value)
{
    int64_t number;
    if (!text_to_int(value, &number) || number < (int64_t)figure->least ||
        number > (int64_t)figure->most)
        return fail_set(FAIL_USAGE, "%s: '%s'; accepted: a whole number from %.0f to %.0f",
                        figure->name, value, figure->least, figure->most);
    *(int *)field(spec, figure) = (int)number;
    return FAIL_OK;
}

static int take_real(struct gpuspec *spec, const struct figure *figure, const char *value)
{
    double number = NAN;
    if (strcmp(value, unknown) != 0 &&
        (!text_to_real(value, &number) || number < figure->least || number > figure->most))
        return fail_set(FAIL_USAGE, "%s: '%s'; accepted: a number from %g to %g, or %s",
                        figure->name, value, figure->least, figure->most, unknown);
    *(double *)field(spec, figure) = number;
    return FAIL_OK;
}

/* Cuts the next name off a comma-separated list, without the blanks around it; NULL at the end. */
static char *next_name(char **list)
{
    char *name = strsep(list, ",");
    if (name == NULL)
        return NULL;
    name += strspn(name, " \t");
    size_t length = strlen(name);
    while (length > 0 && strchr(" \t", name[length - 1]) != NULL)
        length--;
    name[length] = '\0';
    return name;
}

static int take_assumed(struct gpuspec *spec, const char *value)
{
    struct text names = TEXT_INIT;
    char *copy = mem_strdup(value);
    char *list = *copy != '\0' ? copy : NULL;
    const char *name;
    int code = FAIL_OK;
    while (code == FAIL_OK && (name = next_name(&list)) != NULL) {
        size_t at = find_figure(name);
        if (at == FIGURES || !is_number(&figures[at]))
            code = fail_set(FAIL_USAGE, "assumed: '%s' is not the name of a figure", name);
        text_addf(&names, "%s%s", names.length > 0 ? "," : "", name);
    }
    if (code == FAIL_OK && names.length >= sizeof spec->assumed)
        code = fail_set(FAIL_USAGE, "assumed: more than %zu bytes", sizeof spec->assumed - 1);
    if (code == FAIL_OK)
        memcpy(spec->assumed, names.bytes, names.length + 1);
    free(copy);
    text_free(&names);
    return code;
}

static int take_figure(struct parse *parse, const char *key, const char *value, int line)
{
    size_t at = find_figure(key);
    if (at == FIGURES)
        return fail_set(FAIL_USAGE, "unknown key '%s' in [gpu]", key);
    parse->line[at] = line;
    switch (figures[at].kind) {
    case KIND_NAME:
        return take_name(parse->spec, value);
    case KIND_CC:
        return take_cc(parse->spec, value);
    case KIND_INT:
        return take_int(parse->spec, &figures[at], value);
    case KIND_REAL:
        return take_real(parse->spec, &figures[at], value);
    default:
        return take_assumed(parse->spec, value);
    }
}

/* key: a figure, several with commas between them, or "default". */
static int take_source(struct parse *parse, const char *key, const char *value)
{
    if (*value == '\0')
        return fail_set(FAIL_USAGE, "'%s' in [source] says nothing", key);
    if (strcmp(key, "default") == 0) {
        parse->sourced_otherwise = true;
        return FAIL_OK;
    }
    char *copy = mem_strdup(key);
    char *list = copy;
    const char *name;
    int code = FAIL_OK;
    while (code == FAIL_OK && (name = next_name(&list)) != NULL) {
        size_t at = find_figure(name);
        if (at == FIGURES || figures[at].kind == KIND_ASSUMED)
            code = fail_set(FAIL_USAGE, "unknown key '%s' in [source]", name);
        else if (parse->sourced[at])
            code = fail_set(FAIL_USAGE, "'%s' is in [source] twice", name);
        else
            parse->sourced[at] = true;
    }
    free(copy);
    return code;
}

static int take_entry(void *user, const char *section, const char *key, const char *value, int line)
{
    struct parse *parse = user;
    bool is_gpu = strcmp(section, "gpu") == 0;
    if (!is_gpu && strcmp(section, "source") != 0)
        return fail_set(FAIL_USAGE, "unknown section [%s]; a device file has [gpu] and [source]",
                        section);
    if (key != NULL)
        return is_gpu ? take_figure(parse, key, value, line) : take_source(parse, key, value);
    if (is_gpu)
        parse->section_line = line;
    return FAIL_OK;
}

static int require_at_most(const struct parse *parse, const char *small, const char *large,
                           bool holds)
{
    if (holds)
        return FAIL_OK;
    return fail_set(FAIL_USAGE, "%s:%d: %s is above %s", parse->name,
                    parse->line[find_figure(small)], small, large);
}

static int finish(const struct parse *parse)
{
    const struct gpuspec *spec = parse->spec;
    if (parse->section_line == 0)
        return fail_set(FAIL_USAGE, "%s:1: no section [gpu]", parse->name);
    for (size_t at = 0; at < FIGURES; at++) {
        if (parse->line[at] == 0)
            return fail_set(FAIL_USAGE, "%s:%d: [gpu] lacks '%s'", parse->name, parse->section_line,
                            figures[at].name);
        if (figures[at].kind != KIND_ASSUMED && !parse->sourced[at] && !parse->sourced_otherwise)
            return fail_set(FAIL_USAGE, "%s:%d: '%s' has no entry in [source]", parse->name,
                            parse->line[at], figures[at].name);
    }
    int code = require_at_most(parse, "smem_per_block_optin_bytes", "smem_per_sm_bytes",
                               spec->smem_per_block_optin_bytes <= spec->smem_per_sm_bytes);
    if (code == FAIL_OK)
        code = require_at_most(parse, "mma_sync_tflops", "bf16_dense_fp32acc_tflops",
                               !(spec->mma_sync_tflops > spec->bf16_dense_fp32acc_tflops));
    return code;
}

int gpuspec_parse(struct gpuspec *spec, const char *name, const char *text, size_t length)
{
    *spec = (struct gpuspec){0};
    struct parse parse = {.spec = spec, .name = name};
    int code = ini_read(name, text, length, take_entry, &parse);
    return code == FAIL_OK ? finish(&parse) : code;
}

int gpuspec_read(struct gpuspec *spec, const char *name, struct text *text)
{
    struct text path = TEXT_INIT;
    struct text bytes = TEXT_INIT;
    int code = datadir_find(&path, "devices", name, ".ini");
    if (code == FAIL_OK)
        code = text_read_file(&bytes, path.bytes);
    if (code == FAIL_OK)
        code = gpuspec_parse(spec, path.bytes, bytes.bytes, bytes.length);
    if (code == FAIL_OK && text != NULL) {
        text_clear(text);
        text_add_bytes(text, bytes.bytes, bytes.length);
    }
    text_free(&bytes);
    text_free(&path);
    return code;
}

int gpuspec_by_device_name(struct gpuspec *spec, const char *device_name, struct text *text)
{
    char **names;
    size_t count;
    int code = datadir_list("devices", ".ini", &names, &count);
    if (code != FAIL_OK)
        return code;
    bool found = false;
    for (size_t i = 0; i < count && code == FAIL_OK && !found; i++) {
        code = gpuspec_read(spec, names[i], text);
        found = code == FAIL_OK && strcmp(spec->name, device_name) == 0;
    }
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    free(names);
    if (found)
        return FAIL_OK;
    *spec = (struct gpuspec){0};
    if (text != NULL)
        text_clear(text);
    return code != FAIL_OK
               ? code
               : fail_set(FAIL_NOTHING, "no file in devices/ has the name '%s'", device_name);
}

void gpuspec_write(struct text *text, const struct gpuspec *spec)
{
    text_addf(text, "[gpu]\nname = %s\ncompute_capability = %d.%d\n", spec->name, spec->cc_major,
              spec->cc_minor);
    for (size_t at = 0; at < FIGURES; at++) {
        int whole;
        if (!is_number(&figures[at]))
            continue;
        memcpy(&whole, (const char *)spec + figures[at].offset, sizeof whole);
        text_addf(text, "%s = ", figures[at].name);
        if (figures[at].kind == KIND_INT)
            text_addf(text, "%d", whole);
        else if (isnan(real_of(spec, &figures[at])))
            text_add(text, unknown);
        else
            text_add_real(text, real_of(spec, &figures[at]));
        text_add(text, "\n");
    }
    text_addf(text, "assumed = %s\n\n[source]\n", spec->assumed);
    text_add(text, "default = the machine itself where it tells, else the GPU's device file\n");
}

int gpuspec_check_model(const struct gpuspec *spec)
{
    for (size_t at = 0; at < FIGURES; at++)
        if (figures[at].kind == KIND_REAL && isnan(real_of(spec, &figures[at])))
            return fail_set(FAIL_USAGE, "%s cannot be modelled: its %s is unknown", spec->name,
                            figures[at].name);
    return FAIL_OK;
}

bool gpuspec_is_assumed(const struct gpuspec *spec, const char *figure)
{
    size_t length = strlen(figure);
    for (const char *name = spec->assumed; *name != '\0';) {
        size_t name_length = strcspn(name, ",");
        if (name_length == length && memcmp(name, figure, length) == 0)
            return true;
        name += name_length + (name[name_length] == ',');
    }
    return false;
}
