#include "gpu/activity.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "gpu/cupti.h"

void activity_free(struct activity_list *list)
{
    size_t i;

    for (i = 0; i < list->name_count; i++)
        free(list->names[i]);
    free(list->names);
    free(list->records);
    memset(list, 0, sizeof *list);
}

uint64_t activity_lost(const struct activity_losses *losses)
{
    return losses->dropped + losses->zero + losses->reversed + losses->sentinel +
           losses->duplicate + losses->foreign + losses->overflow;
}

#ifdef HAVE_CUPTI

#include <pthread.h>

#include "base/mem.h"
#include "gpu/cupti_table.h"

/*
 * The oldest kernel record that every toolkit from CUDA 11.6 on declares; later ones only add
 * fields at the end, and CUPTI itself steps from record to record.
 */
typedef CUpti_ActivityKernel7 kernel_record;

/* CUPTI converts the device's clock to that of its time stamps; phases are much further apart than
 * it may be off. */
static const uint64_t clock_slack_ns = 1000000;

enum { POOL_BUFFERS = 8, POOL_BYTES = 8 << 20, CUPTI_TAKES_NULL = 27 };

static _Alignas(8) uint8_t pool[POOL_BUFFERS][POOL_BYTES];
static bool pool_taken[POOL_BUFFERS];

/* CUPTI calls back from its own threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct cupti *cupti;
static struct activity_list collected;
static size_t record_room;
static uint64_t phase_start_ns;
static bool registered, collecting;

static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *records_max)
{
    size_t i;

    *buffer = NULL;
    *size = 0;
    *records_max = 0; /* as many as fit */
    pthread_mutex_lock(&lock);
    for (i = 0; i < POOL_BUFFERS && pool_taken[i]; i++)
        ;
    if (i < POOL_BUFFERS) {
        pool_taken[i] = true;
        *buffer = pool[i];
    } else if (cupti->version < CUPTI_TAKES_NULL) {
        *buffer = malloc(POOL_BYTES); /* CUPTI before 12.9 crashes when it is refused */
    }
    pthread_mutex_unlock(&lock);
    if (*buffer)
        *size = POOL_BYTES;
}

static void give_back(uint8_t *buffer)
{
    size_t i;

    for (i = 0; i < POOL_BUFFERS; i++) {
        if (buffer == pool[i]) {
            pool_taken[i] = false;
            return;
        }
    }
    free(buffer);
}

/* Counts a record whose times cannot be a kernel's. */
static bool times_are_good(uint64_t start_ns, uint64_t end_ns, struct activity_losses *losses)
{
    const uint64_t sentinel = (uint64_t)1 << 63;

    if (start_ns == 0 || end_ns == 0)
        losses->zero++;
    else if (start_ns >= sentinel || end_ns >= sentinel)
        losses->sentinel++;
    else if (end_ns <= start_ns)
        losses->reversed++;
    else
        return true;
    return false;
}

/* A trace has few distinct names, mostly that of the record before. */
static const char *keep_name(const char *name)
{
    size_t i;

    if (!name)
        name = "";
    for (i = collected.name_count; i > 0; i--)
        if (strcmp(collected.names[i - 1], name) == 0)
            return collected.names[i - 1];
    collected.names =
        mem_resize(collected.names, collected.name_count + 1, sizeof *collected.names);
    collected.names[collected.name_count] = mem_strdup(name);
    return collected.names[collected.name_count++];
}

static void keep(const kernel_record *kernel)
{
    struct activity_record *record;

    if (!times_are_good(kernel->start, kernel->end, &collected.losses))
        return;
    if (collected.count >= ACTIVITY_RECORDS_MAX) {
        collected.losses.overflow++;
        return;
    }
    if (collected.count == record_room) {
        record_room = record_room ? 2 * record_room : 1024;
        collected.records = mem_resize(collected.records, record_room, sizeof *collected.records);
    }
    record = &collected.records[collected.count++];
    *record = (struct activity_record){
        .start_ns = kernel->start,
        .end_ns = kernel->end,
        .name = keep_name(kernel->name),
        .grid = {(uint32_t)kernel->gridX, (uint32_t)kernel->gridY, (uint32_t)kernel->gridZ},
        .block = {(uint32_t)kernel->blockX, (uint32_t)kernel->blockY, (uint32_t)kernel->blockZ},
        .registers = kernel->registersPerThread,
        .smem_static_bytes = (uint32_t)kernel->staticSharedMemory,
        .smem_dynamic_bytes = (uint32_t)kernel->dynamicSharedMemory,
        .graph_id = kernel->graphId,
        .node_id = kernel->graphNodeId,
        .correlation = kernel->correlationId,
    };
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                      size_t size, size_t valid)
{
    CUpti_Activity *record = NULL;

    (void)context, (void)stream, (void)size;
    if (!buffer)
        return;
    pthread_mutex_lock(&lock);
    while (collecting && valid > 0 &&
           cupti->cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
            record->kind == CUPTI_ACTIVITY_KIND_KERNEL)
            keep((const kernel_record *)(const void *)record);
    give_back(buffer);
    pthread_mutex_unlock(&lock);
}

static void set_collecting(bool on)
{
    pthread_mutex_lock(&lock);
    collecting = on;
    pthread_mutex_unlock(&lock);
}

int activity_start(void)
{
    CUptiResult result;
    size_t stale;
    int code = cupti_get(&cupti);

    if (code != FAIL_OK)
        return code;
    if (!registered) {
        result = cupti->cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
        if (result != CUPTI_SUCCESS)
            return cupti_fail((int)result, "cuptiActivityRegisterCallbacks");
        registered = true;
    }
    /* What a trace that failed left behind; reading the count sets it back to zero. */
    (void)cupti->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    (void)cupti->cuptiActivityGetNumDroppedRecords(NULL, 0, &stale);
    result = cupti->cuptiGetTimestamp(&phase_start_ns);
    if (result != CUPTI_SUCCESS)
        return cupti_fail((int)result, "cuptiGetTimestamp");
    set_collecting(true);
    result = cupti->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    if (result != CUPTI_SUCCESS) {
        set_collecting(false);
        return cupti_fail((int)result, "cuptiActivityEnable");
    }
    return FAIL_OK;
}

static int by_start(const void *a, const void *b)
{
    const struct activity_record *left = a, *right = b;

    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return (left->correlation > right->correlation) - (left->correlation < right->correlation);
}

/* Launches and, within a graph's, nodes. */
static int by_launch(const void *a, const void *b)
{
    const struct activity_record *left = a, *right = b;

    if (left->correlation != right->correlation)
        return left->correlation < right->correlation ? -1 : 1;
    if (left->node_id != right->node_id)
        return left->node_id < right->node_id ? -1 : 1;
    return by_start(a, b);
}

static void drop_duplicates(struct activity_list *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct activity_record *record = &list->records[i];
        const struct activity_record *last = kept > 0 ? &list->records[kept - 1] : NULL;

        if (last && last->correlation == record->correlation && last->node_id == record->node_id)
            list->losses.duplicate++;
        else
            list->records[kept++] = *record;
    }
    list->count = kept;
}

static void drop_foreign(struct activity_list *list, uint64_t phase_end_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct activity_record *record = &list->records[i];

        if (record->start_ns + clock_slack_ns < phase_start_ns ||
            record->end_ns > phase_end_ns + clock_slack_ns)
            list->losses.foreign++;
        else
            list->records[kept++] = *record;
    }
    list->count = kept;
}

/* Keeps one record of each launch of the phase, in order of their starts. */
static void prove(struct activity_list *list, uint64_t phase_end_ns)
{
    if (list->count == 0)
        return;
    qsort(list->records, list->count, sizeof *list->records, by_launch);
    drop_duplicates(list);
    drop_foreign(list, phase_end_ns);
    qsort(list->records, list->count, sizeof *list->records, by_start);
}

static void take_collected(struct activity_list *list)
{
    pthread_mutex_lock(&lock);
    collecting = false;
    *list = collected;
    memset(&collected, 0, sizeof collected);
    record_room = 0;
    pthread_mutex_unlock(&lock);
}

int activity_stop(struct activity_list *list)
{
    uint64_t phase_end_ns = 0;
    size_t dropped = 0;
    CUptiResult stamped = cupti->cuptiGetTimestamp(&phase_end_ns);
    CUptiResult disabled = cupti->cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    CUptiResult flushed = cupti->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    CUptiResult counted = cupti->cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped);

    take_collected(list);
    if (stamped == CUPTI_SUCCESS && flushed == CUPTI_SUCCESS && disabled == CUPTI_SUCCESS &&
        counted == CUPTI_SUCCESS) {
        list->losses.dropped = dropped;
        prove(list, phase_end_ns);
        return FAIL_OK;
    }
    activity_free(list);
    if (stamped != CUPTI_SUCCESS)
        return cupti_fail((int)stamped, "cuptiGetTimestamp");
    if (disabled != CUPTI_SUCCESS)
        return cupti_fail((int)disabled, "cuptiActivityDisable");
    if (flushed != CUPTI_SUCCESS)
        return cupti_fail((int)flushed, "cuptiActivityFlushAll");
    return cupti_fail((int)counted, "cuptiActivityGetNumDroppedRecords");
}

#else

int activity_start(void)
{
    const struct cupti *none;

    return cupti_get(&none);
}

int activity_stop(struct activity_list *list)
{
    const struct cupti *none;

    memset(list, 0, sizeof *list);
    return cupti_get(&none);
}

#endif
