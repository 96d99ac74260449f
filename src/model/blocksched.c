#include "model/blocksched.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

/* Sums over the SMs, from which both ways derive the results. */
struct totals {
    double busy, resident_time; /* SM time with a block; block time */
    double length, first_end;   /* last and first end of an SM that ran a block */
    uint32_t sms_used, blocks_max, blocks_min;
};

/* How much longer a block takes with `count` of them on its SM; 0 for an SM without blocks. */
static double stretch(double count, double saturating)
{
    if (count <= 0)
        return 0;
    return count > saturating ? count / saturating : 1;
}

/* Full waves end together on every SM; of the last one `longer` SMs get one
 * block more than the others. */
static struct totals run_equal(uint32_t sm_count, uint32_t resident, uint64_t blocks,
                               double saturating)
{
    uint64_t full = blocks / ((uint64_t)sm_count * resident);
    uint64_t rest = blocks % ((uint64_t)sm_count * resident);
    uint32_t few = (uint32_t)(rest / sm_count), longer = (uint32_t)(rest % sm_count);
    double full_time = (double)full * stretch(resident, saturating);
    double few_time = stretch(few, saturating), more_time = stretch(few + 1.0, saturating);
    double shorter = sm_count - longer;
    struct totals totals;

    totals.length = full_time + (longer > 0 ? more_time : few_time);
    totals.busy = sm_count * full_time + longer * more_time + shorter * few_time;
    totals.resident_time = sm_count * full_time * resident + longer * more_time * (few + 1.0) +
                           shorter * few_time * few;
    totals.blocks_min = (uint32_t)(full * resident + few);
    totals.blocks_max = totals.blocks_min + (longer > 0);
    totals.sms_used = totals.blocks_min > 0 ? sm_count : longer;
    totals.first_end = totals.blocks_min > 0 ? full_time + few_time : totals.length;
    return totals;
}

/*
 * One SM of the simulation.  `served` is the work each block resident from the start would have had
 * done; a block that comes at served = s with work w ends at served = s + w, whoever comes and goes
 * meanwhile.
 */
struct sm {
    double served, now; /* served as of time now */
    double next;        /* time of the next end of a block; infinite without blocks */
    double resident_time;
    double *ends; /* of the resident blocks, in served work */
    uint32_t count;
    uint32_t blocks;
};

static double next_end(const struct sm *sm)
{
    double end = INFINITY;

    for (uint32_t i = 0; i < sm->count; i++)
        end = sm->ends[i] < end ? sm->ends[i] : end;
    return end;
}

static void plan_next(struct sm *sm, double saturating)
{
    sm->next = INFINITY;
    if (sm->count > 0)
        sm->next = sm->now + (next_end(sm) - sm->served) * stretch(sm->count, saturating);
}

/* Goes on to sm->next and takes the blocks away that end there. */
static void finish_blocks(struct sm *sm)
{
    uint32_t kept = 0;

    sm->resident_time += sm->count * (sm->next - sm->now);
    sm->served = next_end(sm);
    sm->now = sm->next;
    for (uint32_t i = 0; i < sm->count; i++)
        if (sm->ends[i] > sm->served)
            sm->ends[kept++] = sm->ends[i];
    sm->count = kept;
}

/* Hands out blocks from `placed` on while an SM has room; only SMs where a
 * block just ended have any. */
static uint64_t place_blocks(struct sm *sms, uint32_t sm_count, uint32_t resident,
                             const float *weights, uint64_t placed, uint64_t blocks)
{
    for (; placed < blocks; placed++) {
        struct sm *emptiest = sms;

        for (uint32_t i = 1; i < sm_count; i++)
            if (sms[i].count < emptiest->count)
                emptiest = &sms[i];
        if (emptiest->count == resident)
            break;
        emptiest->ends[emptiest->count++] = emptiest->served + (double)weights[placed];
        emptiest->blocks++;
    }
    return placed;
}

static void simulate(struct sm *sms, uint32_t sm_count, uint32_t resident, const float *weights,
                     uint64_t blocks, double saturating)
{
    uint64_t placed = place_blocks(sms, sm_count, resident, weights, 0, blocks);
    double now = 0;

    for (uint32_t i = 0; i < sm_count; i++)
        plan_next(&sms[i], saturating);
    for (;;) {
        now = INFINITY;
        for (uint32_t i = 0; i < sm_count; i++)
            now = sms[i].next < now ? sms[i].next : now;
        if (now == INFINITY)
            return;
        for (uint32_t i = 0; i < sm_count; i++)
            if (sms[i].next <= now)
                finish_blocks(&sms[i]);
        placed = place_blocks(sms, sm_count, resident, weights, placed, blocks);
        for (uint32_t i = 0; i < sm_count; i++)
            if (sms[i].now >= now)
                plan_next(&sms[i], saturating);
    }
}

static struct totals run_weighted(uint32_t sm_count, uint32_t resident, uint64_t blocks,
                                  const float *weights, double saturating)
{
    struct sm *sms = mem_new(sm_count, sizeof(*sms));
    double *ends = mem_new((size_t)sm_count * resident, sizeof(*ends));
    struct totals totals = {.first_end = INFINITY, .blocks_min = UINT32_MAX};

    for (uint32_t i = 0; i < sm_count; i++)
        sms[i].ends = ends + (size_t)i * resident;
    simulate(sms, sm_count, resident, weights, blocks, saturating);
    for (uint32_t i = 0; i < sm_count; i++) {
        const struct sm *sm = &sms[i];
        bool used = sm->blocks > 0;

        totals.busy += sm->now;
        totals.resident_time += sm->resident_time;
        totals.sms_used += used;
        totals.length = fmax(totals.length, sm->now);
        totals.first_end = used ? fmin(totals.first_end, sm->now) : totals.first_end;
        totals.blocks_max = sm->blocks > totals.blocks_max ? sm->blocks : totals.blocks_max;
        totals.blocks_min = sm->blocks < totals.blocks_min ? sm->blocks : totals.blocks_min;
    }
    free(ends);
    free(sms);
    return totals;
}

void blocksched_run(struct blocksched *sched, uint32_t sm_count, int resident, uint64_t blocks,
                    const float *weights, double saturating)
{
    uint32_t room = (uint32_t)resident;
    struct totals totals = weights ? run_weighted(sm_count, room, blocks, weights, saturating)
                                   : run_equal(sm_count, room, blocks, saturating);

    sched->waves = (double)blocks / ((double)sm_count * resident);
    sched->sms_used = totals.sms_used;
    sched->busy_sms = totals.busy / totals.length;
    sched->fill_pct = 100 * totals.busy / (sm_count * totals.length);
    sched->tail_pct = 100 * (totals.length - totals.first_end) / totals.length;
    sched->length = totals.length;
    sched->blocks_max = totals.blocks_max;
    sched->blocks_min = totals.blocks_min;
    sched->achieved_pct_of_resident = 100 * totals.resident_time / (totals.busy * resident);
}
