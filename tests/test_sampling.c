#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "bench/sampling.h"
#include "data/stats.h"
#include "tests/near.h"

static const struct pass_settings usual = {
    .samples_least = 10, .samples_most = 100, .ci_pct = 0.5, .timing_s = 2};

/* Samples that spread evenly over +-spread_pct of 1000 ns, each taking second_s; how many it takes
 * until no more are wanted. */
static size_t sample(struct sampling *sampling, const struct pass_settings *settings,
                     double spread_pct, double second_s)
{
    bool more = true;

    sampling_start(sampling, settings);
    for (size_t i = 0; more; i++) {
        double place =
            (double)(i * 37 % 101) / 50 - 1; /* -1 .. 1, all 101 places before a repeat */

        more = sampling_add(sampling, 1000 * (1 + place * spread_pct / 100),
                            second_s * (double)(i + 1));
    }
    return sampling->count;
}

static void steady_samples_end_at_the_least(void **state)
{
    struct sampling sampling;

    (void)state;
    assert_int_equal(sample(&sampling, &usual, 0, 0.001), 10);
    assert_true(sampling_on_target(&sampling));
    assert_near(sampling.within_pct, 0, 1e-12);
    sampling_free(&sampling);
}

/* The interval of n values spread evenly over +-s reaches about 1.96 / sqrt(n) of s. */
static void noise_takes_more_of_them(void **state)
{
    struct sampling sampling;
    size_t count;

    (void)state;
    count = sample(&sampling, &usual, 1.5, 0.001);
    assert_true(count >= 30 && count <= 60);
    assert_true(sampling_on_target(&sampling) && sampling.within_pct <= 0.5);
    assert_near(stats_median_within_pct(sampling.ns, sampling.count), sampling.within_pct, 0);
    sampling_free(&sampling);
}

static void too_much_noise_ends_at_the_most(void **state)
{
    struct sampling sampling;
    struct text text = TEXT_INIT;

    (void)state;
    assert_int_equal(sample(&sampling, &usual, 30, 0.001), 100);
    assert_false(sampling_on_target(&sampling));
    sampling.within_pct = 2.345;
    sampling_add_text(&text, &sampling);
    assert_string_equal(text.bytes, "step_us is known within 2.35 %, not 0.5 %, after 100 samples");
    text_free(&text);
    sampling_free(&sampling);
}

static void time_ends_it_too(void **state)
{
    struct sampling sampling;

    (void)state;
    assert_int_equal(sample(&sampling, &usual, 30, 0.1), 20); /* of 2 s */
    assert_false(sampling_on_target(&sampling));
    assert_true(sampling.within_pct > 0); /* looked at once more */
    sampling_free(&sampling);
    assert_int_equal(sample(&sampling, &usual, 0, 0.25), 8); /* before the least, and steady */
    assert_true(sampling_on_target(&sampling));
    sampling_free(&sampling);
    assert_int_equal(sample(&sampling, &usual, 0, 5), SAMPLING_FEWEST);
    sampling_free(&sampling);
}

static void a_fixed_count_is_kept(void **state)
{
    static const struct pass_settings fixed = {
        .samples_least = 50, .samples_most = 50, .ci_pct = 0.5, .timing_s = 2};
    struct sampling sampling;

    (void)state;
    assert_int_equal(sample(&sampling, &fixed, 0, 0.001), 50);
    assert_true(sampling_on_target(&sampling));
    sampling_free(&sampling);
}

/* Looks at 10, 13, 17, 22, 28, ...: a hundred thousand samples that never meet the target are
 * looked at about 42 times, which would be 2,000 times as much work if it were done at each. */
static void looks_are_few(void **state)
{
    static const struct pass_settings endless = {
        .samples_least = 10, .samples_most = 100000, .ci_pct = 0, .timing_s = 1e9};
    struct sampling sampling;
    size_t looks = 0, next = 0;
    bool more = true;

    (void)state;
    sampling_start(&sampling, &endless);
    for (size_t i = 0; more; i++) {
        more = sampling_add(&sampling, (double)(uint32_t)(i * 2654435761u) + 1, 0);
        if (sampling.next_look != next && sampling.count >= 10)
            looks++;
        next = sampling.next_look;
    }
    assert_int_equal(sampling.count, 100000);
    assert_true(looks >= 30 && looks <= 50);
    sampling_free(&sampling);
}

static void it_is_warm_when_time_and_clock_stand(void **state)
{
    struct warm_up falling = {0}, rising = {0}, blind = {0};

    (void)state;
    assert_false(warm_up_add(&falling, 1050, 1980));
    assert_false(warm_up_add(&falling, 1020, 1980));
    assert_false(warm_up_add(&falling, 1000, 1980)); /* 5 % from first to last */
    assert_false(warm_up_add(&falling, 1000, 1980)); /* 2 % */
    assert_true(warm_up_add(&falling, 1001, 1980));
    assert_false(warm_up_add(&falling, 1100, 1980));
    assert_false(warm_up_add(&rising, 1000, 1200));
    assert_false(warm_up_add(&rising, 1000, 1965));
    assert_false(warm_up_add(&rising, 1000, 1980));
    assert_true(warm_up_add(&rising, 1000, 1980)); /* 15 MHz are one step */
    assert_false(warm_up_add(&blind, 1000, (double)NAN));
    assert_false(warm_up_add(&blind, 1000, (double)NAN));
    assert_true(warm_up_add(&blind, 1000, (double)NAN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_samples_end_at_the_least),
        cmocka_unit_test(noise_takes_more_of_them),
        cmocka_unit_test(too_much_noise_ends_at_the_most),
        cmocka_unit_test(time_ends_it_too),
        cmocka_unit_test(a_fixed_count_is_kept),
        cmocka_unit_test(looks_are_few),
        cmocka_unit_test(it_is_warm_when_time_and_clock_stand),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
