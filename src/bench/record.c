#include "bench/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/log.h"
#include "base/mem.h"
#include "data/stats.h"

void record_start(struct record *record)
{
    *record = (struct record){.reason = TEXT_INIT, .notes = TEXT_INIT, .whole_reason = TEXT_INIT};
    record->result.status = STORE_OK;
    record->result.rel_error = (double)NAN;
    record->result.lse_error = (double)NAN;
}

void record_free(struct record *record)
{
    free((void *)record->result.launches);
    free((void *)record->result.samples);
    free((void *)record->result.metrics);
    text_free(&record->reason);
    text_free(&record->notes);
    text_free(&record->whole_reason);
}

/* Appends an item to one of the result's arrays, which doubles when its count is a power of two:
 * linear time over all appends. */
#define RECORD_APPEND(array, count, item)                                                 \
    do {                                                                                  \
        if (((count) & ((count)-1)) == 0) {                                               \
            void *grown =                                                                 \
                mem_resize((void *)(array), (count) > 0 ? 2 * (count) : 1, sizeof(item)); \
            (array) = grown;                                                              \
        }                                                                                 \
        memcpy((char *)(void *)(array) + (count) * sizeof(item), &(item), sizeof(item));  \
        (count)++;                                                                        \
    } while (0)

void record_metric(struct record *record, int64_t launch_ord, const char *name, double value,
                   const char *source)
{
    struct store_metric metric = {
        .launch_ord = launch_ord, .name = name, .value = value, .source = source};

    if (!isnan(value))
        RECORD_APPEND(record->result.metrics, record->result.metric_count, metric);
}

void record_sample(struct record *record, double ns, int64_t steps)
{
    struct store_sample sample = {.ns = ns, .steps = steps};

    RECORD_APPEND(record->result.samples, record->result.sample_count, sample);
}

double record_median_ns(const struct record *record)
{
    size_t count = record->result.sample_count;
    double *ns = mem_new(count, sizeof *ns), median;

    for (size_t i = 0; i < count; i++)
        ns[i] = record->result.samples[i].ns;
    median = stats_median(ns, count);
    free(ns);
    return median;
}

void record_launch(struct record *record, const struct plan_launch *launch, int64_t count,
                   int resident_blocks)
{
    struct store_launch row = {
        .ord = (int64_t)record->result.launch_count,
        .count = count,
        .role = plan_role_name(launch->role),
        .name = launch->name,
        .registers = launch->registers,
        .smem_static_bytes = launch->smem_static_bytes,
        .smem_dynamic_bytes = launch->smem_dynamic_bytes,
        .resident_blocks = resident_blocks,
        .bytes = launch->dram_bytes,
        .flops = launch->flops,
    };

    memcpy(row.grid, launch->grid, sizeof row.grid);
    memcpy(row.block, launch->block, sizeof row.block);
    RECORD_APPEND(record->result.launches, record->result.launch_count, row);
}

/* Larger is worse; a worse status is never replaced by a milder one. */
static int severity(enum store_status status)
{
    switch (status) {
    case STORE_MISMATCH:
        return 5;
    case STORE_FAILED:
        return 4;
    case STORE_TIMEOUT:
        return 3;
    case STORE_INVALID:
        return 2;
    case STORE_THROTTLED:
        return 1;
    case STORE_PENDING:
    case STORE_RUNNING:
    case STORE_OK:
    case STORE_SKIPPED:
        break;
    }
    return 0;
}

void record_status(struct record *record, enum store_status status, const char *reason)
{
    if (status == STORE_OK) {
        text_addf(&record->notes, "%s%s", record->notes.length > 0 ? "; " : "", reason);
        return;
    }
    if (record->result.status != STORE_OK && severity(status) <= severity(record->result.status))
        return;
    record->result.status = status;
    text_clear(&record->reason);
    text_add(&record->reason, reason);
}

/* Behind the call that failed and its number, as cupti_fail() puts them. */
static const char *find_remedy(const char *cause)
{
    const char *end = strstr(cause, "): ");

    return end ? end + 3 : cause;
}

void record_missing(struct record *record, const char *what)
{
    const char *cause = fail_text();
    bool told = strstr(record->notes.bytes, find_remedy(cause)) != NULL;
    struct text note = TEXT_INIT;

    text_addf(&note, "%s not measured%s%s", what, told ? " for the same reason" : ": ",
              told ? "" : cause);
    log_warn_once("%s", note.bytes);
    record_status(record, STORE_OK, note.bytes);
    text_free(&note);
}

const struct store_result *record_result(struct record *record)
{
    text_clear(&record->whole_reason);
    text_add(&record->whole_reason, record->reason.bytes);
    if (record->notes.length > 0)
        text_addf(&record->whole_reason, "%s%s", record->reason.length > 0 ? "; " : "",
                  record->notes.bytes);
    record->result.reason = record->whole_reason.length > 0 ? record->whole_reason.bytes : NULL;
    record->result.used = record->used;
    return &record->result;
}
