#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/plan.h"
#include "kernels/resources.h"

static const struct resources_row rows[] = {
    {"80", "one", 96, 0, 1024, 1},
    {"90a", "one", 128, 16, 2048, 2},
    {"90a", "two", 40, 0, 0, 0},
    {NULL, NULL, 0, 0, 0, 0},
};

static void architecture_that_a_gpu_runs(void **state)
{
    (void)state;
    assert_string_equal(resources_arch(8, 0), "80");
    assert_string_equal(resources_arch(8, 9), "80");
    assert_string_equal(resources_arch(9, 0), "90a");
    assert_string_equal(resources_arch(10, 0), "100");
    assert_string_equal(resources_arch(10, 3), "100");
    assert_string_equal(resources_arch(12, 0), "120");
    assert_string_equal(resources_arch(12, 1), "120");
    assert_null(resources_arch(7, 5));
    assert_null(resources_arch(9, 1)); /* 90a is for 9.0 alone */
    assert_null(resources_arch(11, 0));
}

static void search_needs_both_names(void **state)
{
    (void)state;
    assert_ptr_equal(resources_search(rows, "one", "80"), &rows[0]);
    assert_ptr_equal(resources_search(rows, "one", "90a"), &rows[1]);
    assert_ptr_equal(resources_search(rows, "two", "90a"), &rows[2]);
    assert_null(resources_search(rows, "two", "80"));
    assert_null(resources_search(rows, "on", "80"));
    assert_null(resources_search(rows, "one", NULL));
}

static void unknown_function_gets_its_launch_bounds(void **state)
{
    struct plan_launch launch = {
        .name = "no_such_kernel", .block = {256, 1, 1}, .barriers = 1, .smem_static_bytes = 77};

    (void)state;
    assert_null(resources_find("no_such_kernel", 9, 0));
    resources_fill(&launch, 9, 0, 1);
    assert_int_equal(launch.registers, 255); /* 256, more than an instruction can name */
    assert_true(launch.registers_planned);
    assert_int_equal(launch.barriers, 1);
    assert_int_equal(launch.smem_static_bytes, 77);
    resources_fill(&launch, 9, 0, 2);
    assert_int_equal(launch.registers, 128);
    launch.block[0] = 32;
    launch.block[1] = 3;
    resources_fill(&launch, 9, 0, 5); /* 65536 / 480 = 136.5 */
    assert_int_equal(launch.registers, 136);
}

/* The recorded table names this kernel since it was first compiled. */
static void known_function_gets_its_row(void **state)
{
    const struct resources_row *row = resources_find("smscope_simt", 12, 0);
    struct plan_launch launch = {.name = "smscope_simt", .block = {128, 1, 1}, .barriers = -1};

    (void)state;
    assert_non_null(row);
    assert_string_equal(row->arch, "120");
    resources_fill(&launch, 12, 0, 1);
    assert_false(launch.registers_planned);
    assert_int_equal(launch.registers, row->registers);
    assert_int_equal(launch.barriers, row->barriers);
    assert_int_equal(launch.smem_static_bytes, row->smem_static_bytes);
    assert_in_range(row->registers, 16, 255);
    assert_string_not_equal(resources_nvcc(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(architecture_that_a_gpu_runs),
        cmocka_unit_test(search_needs_both_names),
        cmocka_unit_test(unknown_function_gets_its_launch_bounds),
        cmocka_unit_test(known_function_gets_its_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
