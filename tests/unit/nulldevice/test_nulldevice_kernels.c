/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What Inductor and Triton ask the null device's driver before they launch a kernel.
 */
#include "hardware/nulldevice/attributes.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/runtime_types.h"
#include "unit/nulldevice.h"

static void calls_of_triton_are_there(void **state)
{
    static const char *const names[] = {"cuCtxSetLimit",         "cuCtxGetLimit",
                                        "cuLaunchKernelEx",      "cuOccupancyMaxActiveClusters",
                                        "cuFuncGetAttribute",    "cuFuncSetAttribute",
                                        "cuTensorMapEncodeTiled"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_non_null(dlsym(library, names[i]));
}

typedef struct function_case {
    const char *label;
    int attribute, value;
} function_case;

/* A kernel that is compiled while the program runs is one for this very device. */
static const function_case function_cases[] = {
    {"threads of a block", MS_NULL_FUNCTION_THREADS, 1024},
    {"static shared memory", MS_NULL_FUNCTION_SHARED_BYTES, 0},
    {"constant memory", MS_NULL_FUNCTION_CONSTANT_BYTES, 0},
    {"local memory, of which registers are spilled into", MS_NULL_FUNCTION_LOCAL_BYTES, 0},
    {"registers", MS_NULL_FUNCTION_REGISTERS, 32},
    {"version of its PTX", MS_NULL_FUNCTION_PTX, 89},
    {"version of its code", MS_NULL_FUNCTION_BINARY, 89},
    {"one that is not known", 99, 0},
};

static void functions_have_attributes_of_their_own(void **state)
{
    int (*ask)(int *, int, void *);
    (void)state;
    find("cuFuncGetAttribute", &ask);
    for (size_t i = 0; i < sizeof function_cases / sizeof function_cases[0]; i++) {
        const function_case *c = &function_cases[i];
        int value = -1;
        assert_int_equal(ask(&value, c->attribute, NULL), OK);
        if (value != c->value)
            fail_msg("%s: %d, expected %d", c->label, value, c->value);
    }
}

static void limits_are_kept(void **state)
{
    enum { PRINTF_BYTES = 1, NO_LIMIT = 99 };
    int (*set)(int, size_t), (*get)(size_t *, int);
    size_t value = 0;
    (void)state;
    find("cuCtxSetLimit", &set);
    find("cuCtxGetLimit", &get);
    assert_int_equal(get(&value, PRINTF_BYTES), OK);
    assert_int_equal(value, MIB);
    assert_int_equal(set(PRINTF_BYTES, 4 * MIB), OK);
    assert_int_equal(get(&value, PRINTF_BYTES), OK);
    assert_int_equal(value, 4 * MIB);
    assert_int_equal(set(NO_LIMIT, 1), MS_NULL_INVALID_VALUE);
    assert_int_equal(get(&value, NO_LIMIT), MS_NULL_INVALID_VALUE);
}

static void clusters_share_the_multiprocessors(void **state)
{
    int (*ask)(int *, void *, const ms_null_launch *);
    const ms_null_launch_attribute cluster = {.id = MS_NULL_LAUNCH_CLUSTER, .cluster = {2, 2, 1}};
    const ms_null_launch of_four = {.attributes = &cluster, .attribute_count = 1};
    const ms_null_launch of_one = {.attribute_count = 0};
    int count = 0;
    (void)state;
    find("cuOccupancyMaxActiveClusters", &ask);
    assert_int_equal(ask(&count, NULL, &of_one), OK);
    assert_int_equal(count, 58);
    assert_int_equal(ask(&count, NULL, &of_four), OK);
    assert_int_equal(count, 14);
}

/* Each attribute has a type of its own: no more than that is written. */
static void pointers_have_attributes_of_their_own(void **state)
{
    int (*allocate)(void **, size_t), (*release)(void *);
    int (*ask)(void *, int, const void *);
    void *a = NULL, *on_device = NULL;
    unsigned kind[2] = {0, 7};
    int number[2] = {-1, 7};
    (void)state;
    find("cudaMalloc", &allocate);
    find("cudaFree", &release);
    find("cuPointerGetAttribute", &ask);
    assert_int_equal(allocate(&a, MIB), OK);
    assert_int_equal(ask(&on_device, MS_NULL_POINTER_ON_DEVICE, (char *)a + 512), OK);
    assert_ptr_equal(on_device, (char *)a + 512);
    assert_int_equal(ask(kind, MS_NULL_POINTER_MEMORY, a), OK);
    assert_int_equal(kind[0], 2);
    assert_int_equal(kind[1], 7);
    assert_int_equal(ask(number, MS_NULL_POINTER_DEVICE, a), OK);
    assert_int_equal(number[0], 0);
    assert_int_equal(number[1], 7);
    assert_int_equal(ask(kind, MS_NULL_POINTER_MEMORY, &a), MS_NULL_INVALID_VALUE);
    release(a);
}

static void events_are_apart(void **state)
{
    int (*elapsed)(float *, void *, void *);
    float milliseconds = 0;
    (void)state;
    find("cudaEventElapsedTime", &elapsed);
    assert_int_equal(elapsed(&milliseconds, NULL, NULL), OK);
    assert_true(milliseconds > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_of_triton_are_there),
        cmocka_unit_test(functions_have_attributes_of_their_own),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(clusters_share_the_multiprocessors),
        cmocka_unit_test(pointers_have_attributes_of_their_own),
        cmocka_unit_test(events_are_apart),
    };
    return cmocka_run_group_tests(tests, open_library, NULL);
}
