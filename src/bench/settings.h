/*
 * settings: how points are measured, as the run file remembers it.
 *
 * A run is measured in one way from its first point to its last, however often it is gone on with.
 * Each field of struct pass_settings that has a say in that is a row of settings_table and, in the
 * run file, a run-wide metric "setting.NAME".
 */
#ifndef BENCH_SETTINGS_H
#define BENCH_SETTINGS_H

#include <stddef.h>

#include "base/options.h"
#include "bench/pass.h"
#include "data/store.h"

enum setting_kind { SETTING_FLAG, SETTING_INT, SETTING_REAL };

struct setting {
    const char *metric;
    const char *option; /* the long option of `sweep` that sets it */
    enum setting_kind kind;
    size_t place; /* in struct pass_settings */
};

extern const struct setting settings_table[];
enum { SETTINGS_MOST = 16 };

/* As run-wide metrics; returns how many. */
size_t settings_metrics(const struct pass_settings *settings, struct store_metric *metrics);

/*
 * What the command did not give becomes what the run was measured with; a run that does not tell
 * (of an older smscope) leaves it.  FAIL_USAGE: given, and another than the run's.
 */
int settings_take_up(struct pass_settings *settings, const struct option_list *given,
                     const struct store_file *file, const char *path);

#endif
