#include "bench/trace.h"

#include <stdlib.h>

#include <string.h>

#include "base/mem.h"
#include "data/stats.h"

static bool is_of_plan(const struct plan *plan, const char *name)
{
    for (int i = 0; i < plan->count; i++)
        if (strcmp(plan->launch[i].name, name) == 0)
            return true;
    return false;
}

/* "; 3 dropped, 1 zero": the causes that are not 0. */
static void add_losses(struct text *causes, const struct activity_losses *losses)
{
    const struct {
        uint64_t count;
        const char *cause;
    } rows[] = {
        {losses->dropped, "dropped"},     {losses->zero, "zero"},
        {losses->reversed, "reversed"},   {losses->sentinel, "sentinel"},
        {losses->duplicate, "duplicate"}, {losses->foreign, "foreign"},
        {losses->overflow, "overflow"},
    };
    const char *before = "; ";

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].count == 0)
            continue;
        text_addf(causes, "%s%llu %s", before, (unsigned long long)rows[i].count, rows[i].cause);
        before = ", ";
    }
}

bool trace_match(const struct activity_list *list, const struct plan *plan, size_t launched,
                 struct trace_span *spans, struct text *reason)
{
    struct activity_losses losses = list->losses;
    const char *stranger = NULL, *misplaced = NULL;
    struct text causes = TEXT_INIT;
    size_t found = 0, place = 0;
    bool good;

    for (size_t i = 0; i < list->count; i++) {
        const struct activity_record *record = &list->records[i];
        const char *expected = plan->launch[found % (size_t)plan->count].name;

        if (strcmp(record->name, "smscope_flush") == 0)
            continue;
        if (!is_of_plan(plan, record->name)) {
            losses.foreign++;
            stranger = stranger ? stranger : record->name;
            continue;
        }
        if (!misplaced && strcmp(record->name, expected) != 0) {
            misplaced = record->name;
            place = found + 1;
        }
        if (found < launched)
            spans[found] = (struct trace_span){record->start_ns, record->end_ns};
        found++;
    }
    add_losses(&causes, &losses);
    good = causes.length == 0 && found == launched && !misplaced;
    if (stranger)
        text_addf(&causes, " (%s)", stranger);
    else if (causes.length == 0 && misplaced)
        text_addf(&causes, "; number %zu is out of order (%s)", place, misplaced);
    if (!good)
        text_addf(reason, "kernel records: %zu for %zu launches%s", found, launched, causes.bytes);
    text_free(&causes);
    return good;
}

uint64_t trace_union_ns(const struct trace_span *spans, size_t count)
{
    uint64_t sum = 0, reached = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t from = spans[i].start_ns > reached ? spans[i].start_ns : reached;

        if (spans[i].end_ns > from) {
            sum += spans[i].end_ns - from;
            reached = spans[i].end_ns;
        }
    }
    return sum;
}

double trace_step_us(const struct trace_span *spans, size_t steps, size_t launches)
{
    double *us = mem_new(steps, sizeof *us);
    double median;

    for (size_t step = 0; step < steps; step++)
        us[step] = (double)trace_union_ns(spans + step * launches, launches) / 1e3;
    median = stats_median(us, steps);
    free(us);
    return median;
}

void trace_launch_us(const struct trace_span *spans, size_t steps, size_t launches, double *mean_us)
{
    for (size_t i = 0; i < launches; i++) {
        double sum = 0;

        for (size_t step = 0; step < steps; step++) {
            const struct trace_span *span = &spans[step * launches + i];

            sum += (double)(span->end_ns - span->start_ns) / 1e3;
        }
        mean_us[i] = sum / (double)steps;
    }
}
