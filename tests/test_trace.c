#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/trace.h"
#include "tests/near.h"

static void union_leaves_gaps_out_and_counts_overlaps_once(void **state)
{
    /* [100,150) [120,160) overlap by 30; a gap of 40; [200,210) holds [202,204) */
    const struct trace_span spans[] = {{100, 150}, {120, 160}, {200, 210}, {202, 204}};

    (void)state;
    assert_int_equal(trace_union_ns(spans, 4), 60 + 10);
    assert_int_equal(trace_union_ns(spans, 1), 50);
    assert_int_equal(trace_union_ns(spans, 0), 0);
}

static void step_time_is_the_median_over_steps(void **state)
{
    /* three steps of two launches: 3000, 5000 and 40000 ns of work, with gaps between the launches
     */
    const struct trace_span spans[] = {{1000, 3000},   {3500, 4500},   {10000, 14000},
                                       {14100, 15100}, {20000, 50000}, {60000, 70000}};
    double mean_us[2];

    (void)state;
    assert_near(trace_step_us(spans, 3, 2), 5.0, 1e-12);
    trace_launch_us(spans, 3, 2, mean_us);
    assert_near(mean_us[0], (2.0 + 4.0 + 30.0) / 3, 1e-12);
    assert_near(mean_us[1], (1.0 + 1.0 + 10.0) / 3, 1e-12);
}

/* --- are these the launches? --- */

enum { LAUNCHED = 4 };

static const struct plan pair = {.count = 2, .launch = {{.name = "main_k"}, {.name = "combine_k"}}};

/* Two steps with a flush before each, one nanosecond a record and one between. */
static struct activity_list two_steps(struct activity_record records[6])
{
    static const char *const names[] = {"smscope_flush", "main_k", "combine_k",
                                        "smscope_flush", "main_k", "combine_k"};

    for (uint64_t i = 0; i < 6; i++)
        records[i] = (struct activity_record){
            .start_ns = 10 + 2 * i, .end_ns = 11 + 2 * i, .name = names[i]};
    return (struct activity_list){.records = records, .count = 6};
}

static void the_launches_match(void **state)
{
    struct activity_record records[6];
    struct activity_list list = two_steps(records);
    struct trace_span spans[LAUNCHED];
    struct text reason = TEXT_INIT;

    (void)state;
    assert_true(trace_match(&list, &pair, LAUNCHED, spans, &reason));
    assert_string_equal(reason.bytes, "");
    assert_int_equal(spans[0].start_ns, 12);
    assert_int_equal(spans[1].start_ns, 14);
    assert_int_equal(spans[2].start_ns, 18);
    assert_int_equal(spans[3].end_ns, 21);
}

static void check_refused(const struct activity_list *list, size_t launched, const char *expected)
{
    struct trace_span spans[LAUNCHED];
    struct text reason = TEXT_INIT;

    assert_false(trace_match(list, &pair, launched, spans, &reason));
    assert_string_equal(reason.bytes, expected);
    text_free(&reason);
}

static void anything_else_is_told(void **state)
{
    struct activity_record records[6];
    struct activity_list list = two_steps(records);

    (void)state;
    list.count = 5;
    check_refused(&list, LAUNCHED, "kernel records: 3 for 4 launches");
    list.count = 6;
    check_refused(&list, LAUNCHED - 1, "kernel records: 4 for 3 launches");
    list.losses = (struct activity_losses){.dropped = 3, .reversed = 1, .overflow = 2};
    check_refused(&list, LAUNCHED,
                  "kernel records: 4 for 4 launches; 3 dropped, 1 reversed, 2 overflow");
    list.losses = (struct activity_losses){.zero = 1, .sentinel = 2, .duplicate = 4, .foreign = 5};
    check_refused(&list, LAUNCHED,
                  "kernel records: 4 for 4 launches; 1 zero, 2 sentinel, 4 duplicate, 5 foreign");

    list = two_steps(records);
    records[0].name = "some<\"other\", kernel>"; /* in place of a flush */
    check_refused(&list, LAUNCHED,
                  "kernel records: 4 for 4 launches; 1 foreign (some<\"other\", kernel>)");
    list = two_steps(records);
    records[2].name = "main_k";
    records[4].name = "combine_k";
    check_refused(&list, LAUNCHED,
                  "kernel records: 4 for 4 launches; number 2 is out of order (main_k)");
    list.count = 0;
    check_refused(&list, LAUNCHED, "kernel records: 0 for 4 launches");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(union_leaves_gaps_out_and_counts_overlaps_once),
        cmocka_unit_test(step_time_is_the_median_over_steps),
        cmocka_unit_test(the_launches_match),
        cmocka_unit_test(anything_else_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
