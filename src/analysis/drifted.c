#include "analysis/drifted.h"

#include <math.h>
#include <string.h>

void drifted_find(struct drifted *drifted, const struct store_file *file)
{
    double ord = store_find_run_metric(file, "first_ord", NULL);

    *drifted = (struct drifted){.first_us = store_find_run_metric(file, "drift_first_us", NULL),
                                .again_us = store_find_run_metric(file, "drift_again_us", NULL),
                                .moved_pct = store_find_run_metric(file, "drift_pct", NULL),
                                .drifted = store_find_run_metric(file, "drifted", NULL)};
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
