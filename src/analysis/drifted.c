#include "analysis/drifted.h"

#include <math.h>
#include <string.h>

static double run_metric(const struct store_file *file, const char *name)
{
    for (size_t i = 0; i < file->metric_count; i++)
        if (strcmp(file->metrics[i].name, name) == 0)
            return file->metrics[i].value;
    return (double)NAN;
}

void drifted_find(struct drifted *drifted, const struct store_file *file)
{
    double ord = run_metric(file, "first_ord");

    *drifted = (struct drifted){.first_us = run_metric(file, "drift_first_us"),
                                .again_us = run_metric(file, "drift_again_us"),
                                .moved_pct = run_metric(file, "drift_pct"),
                                .drifted = run_metric(file, "drifted")};
    if (!isnan(drifted->drifted) && ord >= 0 && ord < (double)file->count)
        drifted->point = &file->points[(size_t)ord];
}

void drifted_add_text(struct text *text, const struct drifted *drifted)
{
    if (!drifted->point)
        return;
    text_addf(text,
              "%s: %s took %.2f us at the beginning of the run and %.2f us at its end (%+.1f %%)",
              drifted->drifted == 1 ? "DRIFTED" : "Steady", drifted->point->key, drifted->first_us,
              drifted->again_us, drifted->moved_pct);
    if (drifted->drifted == 1)
        text_add(text, "; its points were not measured on equal terms");
    text_add(text, ".");
}
