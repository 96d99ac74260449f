#include "bench/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void record_start(struct record *record)
{
    *record = (struct record){.reason = TEXT_INIT};
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
}

/* Appends an item to one of the result's arrays. */
#define RECORD_APPEND(array, count, item)                                      \
    do {                                                                       \
        void *grown = mem_resize((void *)(array), (count) + 1, sizeof(item));  \
        (array) = grown;                                                       \
        memcpy((char *)grown + (count) * sizeof(item), &(item), sizeof(item)); \
        (count)++;                                                             \
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
    if (record->result.status != STORE_OK && severity(status) <= severity(record->result.status))
        return;
    if (status != STORE_OK)
        text_clear(&record->reason);
    else if (record->reason.length > 0)
        text_add(&record->reason, "; ");
    record->result.status = status;
    text_add(&record->reason, reason);
}

const struct store_result *record_result(struct record *record)
{
    record->result.reason = record->reason.length > 0 ? record->reason.bytes : NULL;
    record->result.used = record->used;
    return &record->result;
}
