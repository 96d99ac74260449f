#include "analysis/sourced.h"

#include <math.h>
#include <string.h>

static const double missing = (double)NAN;

bool sourced_is_model(const char *source)
{
    return source && strcmp(source, "model") == 0;
}

double sourced_labelled(struct sourced number, const char *label)
{
    return number.source && label && sourced_is_model(number.source) == sourced_is_model(label)
               ? number.value
               : missing;
}

struct sourced sourced_of_point(const struct store_point_read *point, const char *name)
{
    struct sourced number;
    number.value = store_find_metric(point, -1, name, &number.source);
    return number;
}

struct sourced sourced_of_launch(const struct store_point_read *point,
                                 const struct store_launch *launch, const char *name)
{
    struct sourced number;
    number.value = store_find_metric(point, launch->ord, name, &number.source);
    return number;
}

static bool is_main(const struct store_launch *launch)
{
    return strcmp(launch->role, "main") == 0;
}

struct sourced sourced_main_mean(const struct store_point_read *point, const char *name)
{
    double sum = 0, weights = 0;
    const char *source = NULL;
    for (size_t i = 0; i < point->launch_count; i++) {
        const struct store_launch *launch = &point->launches[i];
        if (!is_main(launch))
            continue;
        struct sourced number = sourced_of_launch(point, launch, name);
        double time = sourced_of_launch(point, launch, "gpu_us").value;
        double weight = (double)launch->count * (isnan(time) ? 1 : time);
        if (isnan(number.value))
            return (struct sourced){missing, NULL};
        sum += weight * number.value;
        weights += weight;
        source = number.source;
    }
    return (struct sourced){weights > 0 ? sum / weights : missing, source};
}

struct sourced sourced_point_or_main(const struct store_point_read *point, const char *name)
{
    struct sourced number = sourced_of_point(point, name);
    return isnan(number.value) ? sourced_main_mean(point, name) : number;
}

struct sourced sourced_step_sum(const struct store_point_read *point, const char *name,
                                bool main_only)
{
    struct sourced sum = {missing, NULL};
    for (size_t i = 0; i < point->launch_count; i++) {
        const struct store_launch *launch = &point->launches[i];
        if (main_only && !is_main(launch))
            continue;
        struct sourced number = sourced_of_launch(point, launch, name);
        if (isnan(number.value))
            return (struct sourced){missing, NULL};
        sum.value = (isnan(sum.value) ? 0 : sum.value) + (double)launch->count * number.value;
        sum.source = number.source;
    }
    return sum;
}

double sourced_dram_bytes(const struct store_point_read *point, const struct store_launch *launch,
                          const char *label)
{
    if (sourced_is_model(label))
        return (double)launch->bytes;
    return sourced_labelled(sourced_of_launch(point, launch, "dram__bytes_read.sum"), label) +
           sourced_labelled(sourced_of_launch(point, launch, "dram__bytes_write.sum"), label);
}

struct sourced sourced_largest(const struct store_point_read *point, const char *name)
{
    struct sourced most = {missing, NULL};
    for (size_t i = 0; i < point->launch_count; i++) {
        struct sourced number = sourced_of_launch(point, &point->launches[i], name);
        if (isnan(most.value) || number.value > most.value)
            most = number;
    }
    return most;
}
