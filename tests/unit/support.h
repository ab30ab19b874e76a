/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cmocka with the four headers it wants, and a runner for tests whose cases are rows:
 *
 *     static const size_case cases[] = {{"empty", 0, 0}, {"one", 1, 4}};
 *
 *     int main(void)
 *     {
 *         return run_rows("dtype sizes", check_size, cases);
 *     }
 *
 * A row's first member is its label, and `check` finds the row in *state.
 */
#ifndef MS_TESTS_UNIT_SUPPORT_H
#define MS_TESTS_UNIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* Of many rows every CHECK_EVERY-th is tried; 1 where that is not set. */
static inline uint32_t check_every(void)
{
    const char *every = getenv("CHECK_EVERY");
    unsigned long value = every ? strtoul(every, NULL, 10) : 1;
    return value > 0 && value <= 1000 ? (uint32_t)value : 1;
}

/* Fills `tests` with one test for each row; returns the number of rows. For programs that mix row
 * tests with others in one group. */
static inline size_t add_rows(struct CMUnitTest *tests, void (*check)(void **), const void *rows,
                              size_t count, size_t row_size)
{
    for (size_t i = 0; i < count; i++) {
        uintptr_t row = (uintptr_t)rows + i * row_size;
        tests[i] = (struct CMUnitTest){*(const char *const *)row, check, NULL, NULL, (void *)row};
    }
    return count;
}
#define ADD_ROWS(tests, check, rows)                                                               \
    add_rows((tests), (check), (rows), COUNT_OF(rows), sizeof(rows)[0])

static inline int run_row_group(const char *name, void (*check)(void **), const void *rows,
                                size_t count, size_t row_size)
{
    struct CMUnitTest *tests = calloc(count ? count : 1, sizeof *tests);
    if (!tests)
        return 1;
    add_rows(tests, check, rows, count, row_size);
    int failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    free(tests);
    return failed;
}
#define run_rows(name, check, rows)                                                                \
    run_row_group((name), (check), (rows), COUNT_OF(rows), sizeof(rows)[0])

#endif
