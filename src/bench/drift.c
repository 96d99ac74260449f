#include "bench/drift.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/log.h"
#include "base/mem.h"
#include "bench/record.h"
#include "data/stats.h"

bool drift_judge(struct drift *drift, const double *first_ns, size_t first_count,
                 const double *again_ns, size_t again_count)
{
    struct stats_interval first = stats_median_interval(first_ns, first_count);
    struct stats_interval again = stats_median_interval(again_ns, again_count);
    double first_median = stats_median(first_ns, first_count);
    double again_median = stats_median(again_ns, again_count);

    *drift = (struct drift){.first_us = first_median / 1e3,
                            .again_us = again_median / 1e3,
                            .moved_pct = 100 * (again_median / first_median - 1)};
    if (isnan(first.low) || isnan(again.low) || !(first_median > 0))
        return false;
    drift->drifted = fabs(drift->moved_pct) > DRIFT_NOISE_PCT &&
                     (again.low > first.high || again.high < first.low);
    return true;
}

int drift_note_point(struct store *store, size_t ord, const struct store_result *result)
{
    double known;
    int code;

    if (result->sample_count == 0 || result->status == STORE_MISMATCH)
        return FAIL_OK;
    code = store_get_run_metric(store, "first_ord", &known);
    if (code != FAIL_OK || !isnan(known))
        return code;
    return store_put_run_metric(store, "first_ord", (double)ord, "sweep");
}

static double *values_of(const struct store_sample *samples, size_t count)
{
    double *ns = mem_new(count, sizeof *ns);

    for (size_t i = 0; i < count; i++)
        ns[i] = samples[i].ns;
    return ns;
}

static int put_verdict(struct store *store, const struct drift *drift)
{
    const struct {
        const char *name;
        double value;
    } metrics[] = {
        {"drift_first_us", drift->first_us},
        {"drift_again_us", drift->again_us},
        {"drift_pct", drift->moved_pct},
        {"drifted", drift->drifted},
    };
    double before;
    int code = store_get_run_metric(store, "drifted", &before);

    if (code == FAIL_OK && before == 1 && !drift->drifted)
        return FAIL_OK; /* what was measured before still is as it was */
    for (size_t i = 0; code == FAIL_OK && i < sizeof metrics / sizeof *metrics; i++)
        code = store_put_run_metric(store, metrics[i].name, metrics[i].value, "event");
    return code;
}

static int compare(struct store *store, const struct store_point_read *first,
                   const struct measure *measure, const struct point *point)
{
    const struct store_result *again;
    struct record record;
    struct drift drift;
    double *first_ns = values_of(first->samples, first->sample_count), *again_ns;
    int code = FAIL_OK;

    record_start(&record);
    measure_point(measure, point, &record);
    again = record_result(&record);
    again_ns = values_of(again->samples, again->sample_count);
    if (drift_judge(&drift, first_ns, first->sample_count, again_ns, again->sample_count))
        code = put_verdict(store, &drift);
    else
        log_warn("%s could not be timed again, so a drift would not be seen: %s", point->key,
                 again->reason ? again->reason : "too few samples");
    record_free(&record);
    free(first_ns);
    free(again_ns);
    return code;
}

int drift_check(struct store *store, const char *path, const struct measure *measure,
                const struct point_list *points)
{
    struct store_file file;
    double ord;
    int code = store_get_run_metric(store, "first_ord", &ord);

    if (code != FAIL_OK || isnan(ord) || ord < 0 || ord >= (double)points->count)
        return code;
    code = store_read(&file, path);
    if (code != FAIL_OK)
        return code;
    if ((size_t)ord < file.count)
        code = compare(store, &file.points[(size_t)ord], measure, &points->points[(size_t)ord]);
    store_file_free(&file);
    return code;
}
