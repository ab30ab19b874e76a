/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/threads.h"

#include "unit/support.h"

enum { MOST_TASKS = 1000 };

typedef struct parallel_case {
    const char *label;
    uint32_t count;
} parallel_case;

static const parallel_case cases[] = {
    {"no task", 0},
    {"one", 1},
    {"two", 2},
    {"more than processors", MOST_TASKS},
};

static void work(void *context, uint32_t index)
{
    uint32_t *times = context;
    times[index] += index + 1;
}

/* Every task runs once, and has run when the call returns. */
static void check_case(void **state)
{
    const parallel_case *c = *state;
    uint32_t times[MOST_TASKS + 1] = {0};
    ms_threads_run(c->count, work, times);
    for (uint32_t i = 0; i < c->count; i++)
        assert_int_equal(times[i], i + 1);
    assert_int_equal(times[c->count], 0);
}

int main(void)
{
    return run_rows("tasks on several processors", check_case, cases);
}
