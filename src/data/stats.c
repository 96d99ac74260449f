#include "data/stats.h"

#include "base/mem.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void swap(double *a, double *b)
{
    double kept = *a;
    *a = *b;
    *b = kept;
}

/*
 * Puts the value of rank k (from 0) at values[k], nothing greater before it and nothing smaller
 * behind. Random pivots keep sorted input linear, three parts keep equal values linear.
 */
static double select_rank(double *values, size_t count, size_t k)
{
    size_t low = 0;
    size_t high = count; /* rank k lies in [low, high) */
    uint64_t random = 1;
    while (high - low > 1) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        double pivot = values[low + (size_t)(random >> 33) % (high - low)];
        size_t less = low;  /* [low, less) < pivot */
        size_t more = high; /* [more, high) > pivot */
        for (size_t i = low; i < more;) {
            if (values[i] < pivot)
                swap(&values[i++], &values[less++]);
            else if (values[i] > pivot)
                swap(&values[i], &values[--more]);
            else
                i++;
        }
        if (k < less)
            high = less;
        else if (k >= more)
            low = more;
        else
            break;
    }
    return values[k];
}

/* NULL for no values or any NaN. */
static double *copy_numbers(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (isnan(values[i]))
            return NULL;
    if (count == 0)
        return NULL;
    double *copy = mem_new(count, sizeof *copy);
    memcpy(copy, values, count * sizeof *copy);
    return copy;
}

double stats_median(const double *values, size_t count)
{
    double *copy = copy_numbers(values, count);
    if (copy == NULL)
        return NAN;
    double median = select_rank(copy, count, count / 2);
    if (count % 2 == 0) {
        double below = copy[0];
        for (size_t i = 1; i < count / 2; i++)
            below = fmax(below, copy[i]);
        median = 0.5 * below + 0.5 * median;
    }
    free(copy);
    return median;
}

/*
 * The largest rank r (from 1) whose pair (r, count + 1 - r) covers the median with 95 %: both tails
 * P(X <= r - 1), X binomial(count, 1/2), at most 2.5 %.  0 if there is none.  Sums in logarithms,
 * as 2^-count underflows from 1,075 on.
 */
static size_t interval_rank(size_t count)
{
    double log_term = -(double)count * log(2.0);
    double tail = exp(log_term);
    size_t rank = 0;
    while (tail <= 0.025 && rank < count) {
        log_term += log((double)(count - rank) / (double)(rank + 1));
        tail += exp(log_term);
        rank++;
    }
    return rank;
}

struct stats_interval stats_median_interval(const double *values, size_t count)
{
    struct stats_interval interval = {NAN, NAN};
    size_t rank = interval_rank(count);
    double *copy = copy_numbers(values, count);
    if (rank > 0 && copy != NULL) {
        interval.low = select_rank(copy, count, rank - 1);
        interval.high = select_rank(copy, count, count - rank);
    }
    free(copy);
    return interval;
}

double stats_median_within_pct(const double *values, size_t count)
{
    struct stats_interval interval = stats_median_interval(values, count);
    double median = stats_median(values, count);
    if (isnan(interval.low) || !(median > 0))
        return NAN;
    return 100 * fmax(interval.high - median, median - interval.low) / median;
}

double stats_geomean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(values[i] > 0))
            return NAN;
        sum += log(values[i]);
    }
    return count > 0 ? exp(sum / (double)count) : NAN;
}
