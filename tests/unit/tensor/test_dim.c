/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tensor/dim.h"

#include <string.h>

#include "unit/support.h"

static ms_symbols symbols;
static ms_dim b, s, h;

static int set_up(void **state)
{
    (void)state;
    if (!ms_symbols_init(&symbols))
        return -1;
    b = ms_dim_name(&symbols, "B", 3);
    s = ms_dim_name(&symbols, "S", 100);
    h = ms_dim_name(&symbols, "H", 64);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ms_symbols_free(&symbols);
    return 0;
}

static void expect(ms_dim dim, uint64_t value, const char *text)
{
    char out[64];
    assert_int_equal(dim.value, value);
    assert_int_equal(ms_symbol_print(&symbols, dim.symbol, out, sizeof out), strlen(text));
    assert_string_equal(out, text);
}

static void prints_what_it_is(void **state)
{
    (void)state;
    expect(b, 3, "B");
    expect(ms_dim_mul(&symbols, b, s), 300, "B*S");
    expect(ms_dim_add(&symbols, s, ms_dim_number(&symbols, 1)), 101, "(S + 1)");
    expect(ms_dim_half(&symbols, h), 32, "half(H)");
    expect(ms_dim_ceil(&symbols, s, 128), 128, "ceil128(S)");
    expect(ms_dim_ceil(&symbols, h, 32), 64, "ceil32(H)");
    expect(ms_dim_mul(&symbols, ms_dim_add(&symbols, b, s), h), 103 * 64, "(B + S)*H");
    expect(ms_dim_mul(&symbols, ms_dim_rest(&symbols, s, b), h), 97 * 64, "(S - B)*H");
}

static void a_rest_completes_what_it_is_of(void **state)
{
    (void)state;
    expect(ms_dim_add(&symbols, b, ms_dim_rest(&symbols, s, b)), 100, "S");
    expect(ms_dim_add(&symbols, h, ms_dim_rest(&symbols, s, b)), 161, "(H + S - B)");
}

static void one_is_neutral(void **state)
{
    (void)state;
    ms_dim one = ms_dim_number(&symbols, 1);
    expect(ms_dim_mul(&symbols, one, h), 64, "H");
    expect(ms_dim_mul(&symbols, h, one), 64, "H");
}

static void the_same_is_one_symbol(void **state)
{
    (void)state;
    uint32_t product = ms_dim_mul(&symbols, b, s).symbol;
    uint32_t count = symbols.table.count;
    assert_int_equal(ms_dim_mul(&symbols, b, s).symbol, product);
    assert_int_equal(ms_dim_name(&symbols, "B", 3).symbol, b.symbol);
    assert_int_equal(symbols.table.count, count);
}

static void values_saturate(void **state)
{
    (void)state;
    ms_dim big = ms_dim_number(&symbols, UINT64_MAX / 2);
    assert_true(ms_dim_mul(&symbols, big, h).value == UINT64_MAX);
    assert_true(ms_dim_add(&symbols, ms_dim_number(&symbols, UINT64_MAX), b).value == UINT64_MAX);
}

static void a_short_buffer_is_terminated(void **state)
{
    (void)state;
    char out[4];
    assert_int_equal(
        ms_symbol_print(&symbols, ms_dim_ceil(&symbols, s, 128).symbol, out, sizeof out), 10);
    assert_string_equal(out, "cei");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_what_it_is),
        cmocka_unit_test(one_is_neutral),
        cmocka_unit_test(a_rest_completes_what_it_is_of),
        cmocka_unit_test(the_same_is_one_symbol),
        cmocka_unit_test(values_saturate),
        cmocka_unit_test(a_short_buffer_is_terminated),
    };
    return cmocka_run_group_tests_name("symbolic dimensions", tests, set_up, tear_down);
}
