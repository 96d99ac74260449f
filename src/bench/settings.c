#include "bench/settings.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"

#define ROW(field, option, kind)                                               \
    {                                                                          \
        "setting." #field, option, kind, offsetof(struct pass_settings, field) \
    }

const struct setting settings_table[] = {
    ROW(samples_least, "samples", SETTING_INT),
    ROW(samples_most, "samples", SETTING_INT),
    ROW(ci_pct, "ci", SETTING_REAL),
    ROW(timing_s, "timing-seconds", SETTING_REAL),
    ROW(counters, "no-counters", SETTING_FLAG),
};
static const size_t setting_count = sizeof settings_table / sizeof *settings_table;
_Static_assert(sizeof settings_table / sizeof *settings_table <= SETTINGS_MOST, "room for all");

static double get(const struct pass_settings *settings, const struct setting *setting)
{
    const char *field = (const char *)settings + setting->place;

    switch (setting->kind) {
    case SETTING_FLAG:
        return *(const bool *)field ? 1 : 0;
    case SETTING_INT:
        return (double)*(const int64_t *)(const void *)field;
    case SETTING_REAL:
        break;
    }
    return *(const double *)(const void *)field;
}

static void set(struct pass_settings *settings, const struct setting *setting, double value)
{
    char *field = (char *)settings + setting->place;

    switch (setting->kind) {
    case SETTING_FLAG:
        *(bool *)field = value != 0;
        break;
    case SETTING_INT:
        *(int64_t *)(void *)field = (int64_t)value;
        break;
    case SETTING_REAL:
        *(double *)(void *)field = value;
        break;
    }
}

size_t settings_metrics(const struct pass_settings *settings, struct store_metric *metrics)
{
    for (size_t i = 0; i < setting_count; i++)
        metrics[i] = (struct store_metric){.launch_ord = -1,
                                           .name = settings_table[i].metric,
                                           .value = get(settings, &settings_table[i]),
                                           .source = "command"};
    return setting_count;
}

/* NaN: the run does not tell. */
static double recorded(const struct store_file *file, const char *metric)
{
    for (size_t i = 0; i < file->metric_count; i++)
        if (strcmp(file->metrics[i].name, metric) == 0)
            return file->metrics[i].value;
    return (double)NAN;
}

int settings_take_up(struct pass_settings *settings, const struct option_list *given,
                     const struct store_file *file, const char *path)
{
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *setting = &settings_table[i];
        double was = recorded(file, setting->metric), is = get(settings, setting);

        if (isnan(was) || was == is)
            continue;
        if (options_is_given(given, setting->option))
            return fail_set(FAIL_USAGE, "%s was measured with another --%s (%s %.10g, not %.10g)",
                            path, setting->option, setting->metric, was, is);
        set(settings, setting, was);
    }
    return FAIL_OK;
}
