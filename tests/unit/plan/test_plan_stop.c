/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plans for a run whose user stops at once: there is an answer, and it does not claim too much.
 */
#include "unit/support.h"

#include <string.h>

#include "memscope/plan.h"

typedef struct stop_case {
    const char *label;
    const char *settings[7]; /* of the plan: field, value, ... NULL */
    ms_status status;
    const char *format;
    const char *has[4], *lacks[3]; /* in the answer; NULL past the last */
} stop_case;

/* clang-format off */
static const stop_case cases[] = {
    {"a plan that fits", {"budget", "20GiB"}, MS_ERR_STOPPED, "json",
     {"\"status\": \"stopped\"", "\"fits\": true", "\"compared\": []"},
     {"\"gap\": null", "\"bound_ms\": null"}},
    {"everything kept is proven", {"budget", "60GiB"}, MS_OK, "json",
     {"\"status\": \"optimal\"", "\"gap\": 0.000000"}, {NULL}},
    {"nothing fits, which is not known", {"budget", "4GiB"}, MS_ERR_STOPPED, "json",
     {"\"status\": \"stopped\"", "\"fits\": false", "\"gap\": null", "\"suggestions\": []"}, {NULL}},
    {"nothing fits, at a terminal", {"budget", "4GiB"}, MS_ERR_STOPPED, "console",
     {"stopped before it found a plan for"}, {"no mix", "no plan was found"}},
    {"a simpler planner", {"budget", "20GiB", "planner", "greedy"}, MS_ERR_STOPPED, "md",
     {"treat"}, {NULL}},
    {"a trainer", {"budget", "20GiB", "target", "hf"}, MS_ERR_STOPPED, "json",
     {"\"status\": \"stopped\"", "\"fits\": false", "\"price\": null"}, {NULL}},
    {"all trainers", {"budget", "20GiB", "target", "all"}, MS_ERR_STOPPED, "json",
     {"\"status\": \"stopped\"", "\"fits\": true"}, {"\"targets\""}},
    {"all trainers beside everything kept", {"budget", "60GiB", "target", "all"}, MS_ERR_STOPPED, "console",
     {"everything"}, {"Trainers"}},
    {"a curve as JSON", {"curve", "true"}, MS_ERR_STOPPED, "json", {"\"points\": []"}, {NULL}},
    {"a curve", {"curve", "true"}, MS_ERR_STOPPED, "console", {"the search stopped before it found a point"}, {NULL}},
    {"a curve as a table", {"curve", "true"}, MS_ERR_STOPPED, "csv", {"budget_bytes,"}, {NULL}},
    {"a curve as a picture", {"curve", "true"}, MS_ERR_STOPPED, "svg", {"<svg", "</svg>"}, {NULL}},
};
/* clang-format on */

static char *text_of(const ms_plan *plan, const char *format)
{
    static char text[1 << 18];
    FILE *out = tmpfile();
    assert_non_null(out);
    assert_int_equal(ms_plan_write(plan, format, out, NULL), MS_OK);
    rewind(out);
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    fclose(out);
    return text;
}

static void check_stop(void **state)
{
    const stop_case *c = *state;
    ms_error err = {0};
    ms_plan *plan = ms_plan_create();
    assert_non_null(plan);
    assert_int_equal(ms_plan_set_run(plan, "config", "tinyllama-1.1b", &err), MS_OK);
    assert_int_equal(ms_plan_set_run(plan, "batch", "8", &err), MS_OK);
    for (size_t i = 0; c->settings[i]; i += 2)
        assert_int_equal(ms_plan_set(plan, c->settings[i], c->settings[i + 1], &err), MS_OK);
    ms_plan_stop(plan);
    assert_int_equal(ms_plan_solve(plan, &err), c->status);
    assert_int_equal(err.status, c->status);
    const char *text = text_of(plan, c->format);
    for (size_t i = 0; i < COUNT_OF(c->has) && c->has[i]; i++)
        if (!strstr(text, c->has[i]))
            fail_msg("no %s in\n%.3000s", c->has[i], text);
    for (size_t i = 0; i < COUNT_OF(c->lacks) && c->lacks[i]; i++)
        if (strstr(text, c->lacks[i]))
            fail_msg("%s in\n%.3000s", c->lacks[i], text);
    ms_plan_free(plan);
}

int main(void)
{
    return run_rows("stopped plans", check_stop, cases);
}
