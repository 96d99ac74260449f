#include "bench/plausible.h"

#include <math.h>
#include <string.h>

static const double counter_error = 0.01;

/* A metric of the same launch; NaN: it has none. */
static double find(const struct record *record, int64_t launch_ord, const char *name)
{
    for (size_t i = 0; i < record->result.metric_count; i++)
        if (record->result.metrics[i].launch_ord == launch_ord &&
            strcmp(record->result.metrics[i].name, name) == 0)
            return record->result.metrics[i].value;
    return (double)NAN;
}

/* NaN: nothing is known of such a metric. */
static double most(const struct record *record, const struct store_metric *metric,
                   const struct gpuspec *spec)
{
    if (strcmp(metric->name, "busy_sms") == 0)
        return (double)spec->sm_count;
    if (strcmp(metric->name, "achieved_occupancy_pct") == 0) {
        double theoretical = find(record, metric->launch_ord, "theoretical_occupancy_pct");

        return isnan(theoretical) ? 100 : theoretical;
    }
    return (double)NAN;
}

static const char *name_of(const struct record *record, int64_t launch_ord)
{
    for (size_t i = 0; i < record->result.launch_count; i++)
        if (record->result.launches[i].ord == launch_ord)
            return record->result.launches[i].name;
    return "the step";
}

void plausible_check(struct record *record, const struct gpuspec *spec)
{
    struct text reason = TEXT_INIT;

    for (size_t i = 0; i < record->result.metric_count && reason.length == 0; i++) {
        const struct store_metric *metric = &record->result.metrics[i];
        double limit = most(record, metric, spec);

        if (isnan(limit) || (metric->value >= 0 && metric->value <= limit * (1 + counter_error)))
            continue;
        text_addf(&reason, "%s of %s is %.6g, which is not within 0 and %.6g", metric->name,
                  name_of(record, metric->launch_ord), metric->value, limit);
    }
    if (reason.length > 0)
        record_status(record, STORE_INVALID, reason.bytes);
    text_free(&reason);
}
