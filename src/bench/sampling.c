#include "bench/sampling.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "data/stats.h"

/* NaN among them: not known, which holds nothing up. */
static bool is_flat(const double values[WARM_UP_WINDOWS])
{
    double least = values[0], most = values[0];

    for (size_t i = 0; i < WARM_UP_WINDOWS; i++) {
        if (isnan(values[i]))
            return true;
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    return most - least <= WARM_UP_FLAT_PCT / 100 * least;
}

bool warm_up_add(struct warm_up *warm_up, double median_ns, double clock_mhz)
{
    size_t place = warm_up->windows++ % WARM_UP_WINDOWS;

    warm_up->ns[place] = median_ns;
    warm_up->clock_mhz[place] = clock_mhz;
    return warm_up->windows >= WARM_UP_WINDOWS && is_flat(warm_up->ns) &&
           is_flat(warm_up->clock_mhz);
}

void sampling_start(struct sampling *sampling, const struct pass_settings *settings)
{
    *sampling = (struct sampling){.settings = settings,
                                  .next_look = (size_t)settings->samples_least,
                                  .within_pct = (double)NAN};
}

void sampling_free(struct sampling *sampling)
{
    free(sampling->ns);
    *sampling = (struct sampling){0};
}

static void look(struct sampling *sampling)
{
    sampling->within_pct = stats_median_within_pct(sampling->ns, sampling->count);
    sampling->next_look = sampling->count + sampling->count / 4 + 1;
}

bool sampling_on_target(const struct sampling *sampling)
{
    return sampling->within_pct <= sampling->settings->ci_pct;
}

bool sampling_add(struct sampling *sampling, double ns, double elapsed_s)
{
    const struct pass_settings *settings = sampling->settings;
    bool last;

    if (sampling->count == sampling->room) {
        sampling->room = sampling->room > 0 ? 2 * sampling->room : SAMPLING_FEWEST;
        sampling->ns = mem_resize(sampling->ns, sampling->room, sizeof *sampling->ns);
    }
    sampling->ns[sampling->count++] = ns;
    last = sampling->count >= (size_t)settings->samples_most ||
           (sampling->count >= SAMPLING_FEWEST && elapsed_s >= settings->timing_s);
    if (last || sampling->count >= sampling->next_look)
        look(sampling);
    return !last && !sampling_on_target(sampling);
}

void sampling_add_text(struct text *text, const struct sampling *sampling)
{
    text_add(text, "step_us is known within ");
    text_add_fixed(text, sampling->within_pct, 2);
    text_add(text, " %, not ");
    text_add_real(text, sampling->settings->ci_pct);
    text_addf(text, " %%, after %zu samples", sampling->count);
}
