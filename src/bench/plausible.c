#include "bench/plausible.h"

#include <math.h>
#include <string.h>

static const double counter_error = 0.01;
static const double cold_share = 0.95;
static const double roof_excess = 1.02;

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

static void check_ranges(const struct record *record, const struct gpuspec *spec,
                         struct text *reason)
{
    for (size_t i = 0; i < record->result.metric_count && reason->length == 0; i++) {
        const struct store_metric *metric = &record->result.metrics[i];
        double limit = most(record, metric, spec);

        if (isnan(limit) || (metric->value >= 0 && metric->value <= limit * (1 + counter_error)))
            continue;
        text_addf(reason, "%s of %s is %.6g, which is not within 0 and %.6g", metric->name,
                  name_of(record, metric->launch_ord), metric->value, limit);
    }
}

/* By what the counters saw of each launch. */
static void check_cold_launches(const struct record *record, struct text *reason)
{
    for (size_t i = 0; i < record->result.launch_count && reason->length == 0; i++) {
        const struct store_launch *launch = &record->result.launches[i];
        double must = find(record, launch->ord, "must_read_bytes");
        double hit_pct = find(record, launch->ord, "l2_hit_pct");
        double got = find(record, launch->ord, "dram__bytes_read.sum");

        if (isnan(must) || isnan(got) || got >= cold_share * must)
            continue;
        text_addf(reason,
                  "not cold: %s read %.6g bytes from DRAM and cannot do with less than %.6g",
                  launch->name, got, must);
        if (!isnan(hit_pct))
            text_addf(reason, " (L2 hits: %.3g %%)", hit_pct);
    }
}

/* By the time of the step, which no counter has seen. */
static void check_cold_step(const struct record *record, double read_roof_gb_per_s,
                            struct text *reason)
{
    double gb_per_s = find(record, -1, "must_read_bytes") / record_median_ns(record);

    if (!(gb_per_s > roof_excess * read_roof_gb_per_s))
        return;
    text_addf(reason,
              "not cold: the step would read what it cannot do without at %.6g GB/s, and the read "
              "roof of this run is %.6g",
              gb_per_s, read_roof_gb_per_s);
}

void plausible_check(struct record *record, const struct gpuspec *spec, double read_roof_gb_per_s)
{
    struct text reason = TEXT_INIT;

    check_ranges(record, spec, &reason);
    if (!axis_is_word(&record->used[AXIS_CACHE], "hot")) {
        check_cold_launches(record, &reason);
        if (reason.length == 0)
            check_cold_step(record, read_roof_gb_per_s, &reason);
    }
    if (reason.length > 0)
        record_status(record, STORE_INVALID, reason.bytes);
    text_free(&reason);
}
