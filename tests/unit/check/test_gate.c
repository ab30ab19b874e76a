/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Limits as they are written, and verdicts at, below and above them, worked out by hand.
 */
#include "decide/check/wording.h"
#include "unit/support.h"

#include <string.h>

#include "decide/check/budgets.h"
#include "decide/check/verdict.h"

/* ---- amounts ---- */

typedef struct amount_case {
    const char *text;
    bool may_be_two, is_valid;
    bool needs_both;
    uint64_t bytes;
    uint32_t share;
} amount_case;

static void check_amount(void **state)
{
    const amount_case *c = *state;
    ms_amount amount;
    ms_error err = {0};
    assert_int_equal(ms_amount_parse(c->text, c->may_be_two, &amount, &err) == MS_OK, c->is_valid);
    if (!c->is_valid) {
        assert_true(err.text[0]);
        return;
    }
    assert_int_equal(amount.bytes, c->bytes);
    assert_int_equal(amount.share, c->share);
    assert_int_equal(amount.needs_both, c->needs_both);
}

#define GIB (UINT64_C(1) << 30)

static const amount_case amounts[] = {
    {"78 GiB", false, true, false, 78 * GIB, 0},
    {"1.5GiB", false, true, false, GIB + GIB / 2, 0},
    {"2 GB", false, true, false, 2000000000, 0},
    {"95%", false, true, false, 0, 950000},
    {"2.5 %", false, true, false, 0, 25000},
    {"0.0001%", false, true, false, 0, 1},
    {"0.00001%", false, false, false, 0, 0},
    {"100%", false, true, false, 0, 1000000},
    {"1001%", false, false, false, 0, 0},
    {"%", false, false, false, 0, 0},
    {"5%%", false, false, false, 0, 0},
    {"-5%", false, false, false, 0, 0},
    {"80", false, false, false, 0, 0},
    {"80G", false, false, false, 0, 0},
    {"3% and 1 GiB", true, true, true, GIB, 30000},
    {"1 GiB or 3%", true, true, false, GIB, 30000},
    {"3% and 1 GiB", false, false, false, 0, 0},
    {"3% and 4%", true, false, false, 0, 0},
    {"1 GiB or 2 GiB", true, false, false, 0, 0},
    {"", false, false, false, 0, 0},
};

/* ---- shares ---- */

static void test_share(void **state)
{
    (void)state;
    assert_int_equal(ms_share_of(1000000, 950000), 950000);
    assert_int_equal(ms_share_of(10, 333333), 3);
    assert_int_equal(ms_share_of(0, 1000000), 0);
    assert_int_equal(ms_share_of(UINT64_MAX, 1000000), UINT64_MAX);
    assert_int_equal(ms_share_of(UINT64_MAX, 2000000), UINT64_MAX);
    assert_int_equal(ms_share_of(UINT64_C(1) << 60, 500000), UINT64_C(1) << 59);
}

/* ---- verdicts ---- */

/* Expected 1000, at most 1200, of a device of 2000; the baseline had 900 and 1100. */
typedef struct verdict_case {
    const char *label, *max, *warn, *increase;
    bool uses_expected;
    ms_measure measure;
    ms_outcome outcome;
    uint64_t limit_bytes; /* the tightest that fails */
    ms_fit_reason reason; /* of the run; 0: its report says none */
    ms_require require;
} verdict_case;

static void take(ms_budget_limit *limit, const char *text, const ms_error *place)
{
    ms_error err = {0};
    if (!text)
        return;
    limit->text = text;
    limit->place = place;
    assert_int_equal(ms_amount_parse(text, true, &limit->amount, &err), MS_OK);
}

static void check_verdict(void **state)
{
    const verdict_case *c = *state;
    static const ms_error place = {.line = 3};
    static const ms_report_part phases[] = {{"forward", "", 500}, {"backward", "", 700}};
    static const ms_report_part kinds[] = {
        {"weight", "", 300}, {"buffer", "", 20}, {"input", "", 7}};
    ms_budget budget = {.name = "b", .place = &place};
    take(&budget.limits.max, c->max, &place);
    take(&budget.limits.warn, c->warn, &place);
    take(&budget.limits.increase, c->increase, &place);
    budget.limits.uses_expected = c->uses_expected;
    budget.limits.measure = c->measure;
    budget.limits.require = c->require;
    ms_verdict v = {
        .budget = &budget,
        .report = {.expected_bytes = 1000,
                   .high_bytes = 1200,
                   .reserved_bytes = 800,
                   .device = "a100-80gb",
                   .has_reason = c->reason != MS_FIT_OVER_BUDGET,
                   .reason = c->reason,
                   .phases = {phases, 2},
                   .categories = {kinds, 3},
                   .peak_phase = ""},
        .before = {.expected_bytes = 900, .high_bytes = 1100, .peak_phase = ""},
        .has_before = true,
        .device_bytes = 2000,
    };
    ms_arena *arena = ms_arena_create(0);
    ms_error err = {0};
    assert_int_equal(ms_verdict_judge(arena, &v, &err), MS_OK);
    assert_int_equal(v.outcome, c->outcome);
    assert_int_equal(v.limit_bytes, c->limit_bytes);
    const char *text = ms_verdict_text(arena, &v);
    assert_non_null(text);
    bool is_plain = !v.report.has_reason || ms_reason_verdict(c->reason) == MS_VERDICT_FITS;
    assert_int_equal(strstr(text, ms_fit_reason_text(c->reason)) == NULL, is_plain);
    assert_non_null(ms_verdict_changes(arena, &v));
    ms_arena_free(arena);
}

#define PASSED MS_OUTCOME_PASSED
#define OVER MS_OUTCOME_OVER
#define WARNED MS_OUTCOME_WARNED
#define SKIPPED MS_OUTCOME_SKIPPED
#define OLD MS_FIT_OVER_BUDGET /* a report of before there were reasons */
#define UNSAID MS_REQUIRE_UNSAID
#define PEAK MS_MEASURE_PEAK

/* clang-format off */
static const verdict_case verdicts[] = {
    {"at the limit",           "1200 B", NULL,     NULL,           false, MS_MEASURE_PEAK, PASSED, 1200, OLD, UNSAID},
    {"over by one byte",       "1199 B", NULL,     NULL,           false, MS_MEASURE_PEAK, OVER,   1199, OLD, UNSAID},
    {"the expected, at",       "1000 B", NULL,     NULL,           true,  MS_MEASURE_PEAK, PASSED, 1000, OLD, UNSAID},
    {"the expected, over",     "999 B",  NULL,     NULL,           true,  MS_MEASURE_PEAK, OVER,   999, OLD, UNSAID},
    {"a share, at",            "60%",    NULL,     NULL,           false, MS_MEASURE_PEAK, PASSED, 1200, OLD, UNSAID},
    {"a share, over",          "59.9%",  NULL,     NULL,           false, MS_MEASURE_PEAK, OVER,   1198, OLD, UNSAID},
    {"a warning",              "2000 B", "1199 B", NULL,           false, MS_MEASURE_PEAK, MS_OUTCOME_WARNED, 2000, OLD, UNSAID},
    {"no warning",             "2000 B", "1200 B", NULL,           false, MS_MEASURE_PEAK, PASSED, 2000, OLD, UNSAID},
    {"an increase, at",        NULL,     NULL,     "100 B",        false, MS_MEASURE_PEAK, PASSED, 1200, OLD, UNSAID},
    {"an increase, over",      NULL,     NULL,     "99 B",         false, MS_MEASURE_PEAK, OVER,   1199, OLD, UNSAID},
    {"a share of it, over",    NULL,     NULL,     "9%",           false, MS_MEASURE_PEAK, OVER,   1199, OLD, UNSAID},
    {"a share of it, kept",    NULL,     NULL,     "10%",          false, MS_MEASURE_PEAK, PASSED, 1210, OLD, UNSAID},
    {"either is over",         NULL,     NULL,     "9% or 200 B",  false, MS_MEASURE_PEAK, OVER,   1199, OLD, UNSAID},
    {"both would have to be",  NULL,     NULL,     "9% and 200 B", false, MS_MEASURE_PEAK, PASSED, 1300, OLD, UNSAID},
    {"both are",               NULL,     NULL,     "9% and 50 B",  false, MS_MEASURE_PEAK, OVER,   1199, OLD, UNSAID},
    {"the tightest",           "1100 B", NULL,     "50 B",         false, MS_MEASURE_PEAK, OVER,   1100, OLD, UNSAID},
    {"no limit",               NULL,     NULL,     NULL,           false, MS_MEASURE_PEAK, MS_OUTCOME_SKIPPED, 0, OLD, UNSAID},
    {"forward, at",            "500 B",  NULL,     NULL,           false, MS_MEASURE_FORWARD, PASSED, 500, OLD, UNSAID},
    {"backward, over",         "699 B",  NULL,     NULL,           false, MS_MEASURE_BACKWARD, OVER, 699, OLD, UNSAID},
    {"weights and buffers",    "319 B",  NULL,     NULL,           false, MS_MEASURE_WEIGHTS, OVER, 319, OLD, UNSAID},
    {"activations and inputs", "6 B",    NULL,     NULL,           false, MS_MEASURE_ACTIVATIONS, OVER, 6, OLD, UNSAID},
    {"reserved",               "799 B",  NULL,     NULL,           false, MS_MEASURE_RESERVED, OVER, 799, OLD, UNSAID},
    {"fits, all kept",          "1200 B", NULL,     NULL, false, PEAK, PASSED,  1200, MS_FIT_WITHIN_BUDGET, MS_REQUIRE_FITS},
    {"retries warn",            "1200 B", NULL,     NULL, false, PEAK, WARNED,  1200, MS_FIT_RETRIES,   UNSAID},
    {"the upper end warns",     "1200 B", NULL,     NULL, false, PEAK, WARNED,  1200, MS_FIT_UPPER_END, UNSAID},
    {"no room warns",           "1200 B", NULL,     NULL, false, PEAK, WARNED,  1200, MS_FIT_NO_ROOM,   UNSAID},
    {"tight passes where said", "1200 B", NULL,     NULL, false, PEAK, PASSED,  1200, MS_FIT_RETRIES,   MS_REQUIRE_TIGHT},
    {"no room does not",        "1200 B", NULL,     NULL, false, PEAK, OVER,    1200, MS_FIT_NO_ROOM,   MS_REQUIRE_TIGHT},
    {"all passes where said",   "1200 B", NULL,     NULL, false, PEAK, PASSED,  1200, MS_FIT_NO_ROOM,   MS_REQUIRE_NOTHING},
    {"tight fails where said",  "1200 B", NULL,     NULL, false, PEAK, OVER,    1200, MS_FIT_UPPER_END, MS_REQUIRE_FITS},
    {"over stays over",         "1199 B", NULL,     NULL, false, PEAK, OVER,    1199, MS_FIT_RETRIES,   MS_REQUIRE_NOTHING},
    {"without a limit nothing", NULL,     NULL,     NULL, false, PEAK, SKIPPED, 0,    MS_FIT_RETRIES,   UNSAID},
    {"it is one by itself",     NULL,     NULL,     NULL, false, PEAK, OVER,    0,    MS_FIT_RETRIES,   MS_REQUIRE_FITS},
};
/* clang-format on */

/* ---- exit codes ---- */

typedef struct exit_case {
    const char *label;
    ms_outcome a, b;
    bool has_no_fix, warn_only;
    int code;
} exit_case;

static void check_exit(void **state)
{
    const exit_case *c = *state;
    const ms_verdict two[] = {
        {.outcome = c->a, .has_no_fix = c->has_no_fix, .error.status = MS_ERR_IO},
        {.outcome = c->b, .error.status = MS_ERR_IO}};
    assert_int_equal(ms_verdicts_exit_code(two, 2, c->warn_only), c->code);
}

static const exit_case exits[] = {
    {"all kept", PASSED, MS_OUTCOME_SKIPPED, false, false, 0},
    {"a warning", MS_OUTCOME_WARNED, PASSED, false, false, 0},
    {"one over", PASSED, OVER, false, false, 1},
    {"only a warning", PASSED, OVER, false, true, 0},
    {"without a plan", OVER, PASSED, true, false, 3},
    {"without a plan, only a warning", OVER, PASSED, true, true, 0},
    {"unreadable", MS_OUTCOME_FAILED, OVER, false, false, 2},
    {"unreadable, only a warning", OVER, MS_OUTCOME_FAILED, true, true, 2},
};

/* ---- many budgets ---- */

/* A file of that many, the last of which has the name of budget `twice`, on one line or on many. */
static char *many_budgets(uint32_t count, uint32_t twice, const char *gap)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    fprintf(out, "{\"budgets\": [");
    for (uint32_t i = 0; i < count; i++)
        fprintf(out,
                "%s%s{\"name\": \"b%u\", \"run\": {\"model\": \"gpt2\"}, \"limits\": {\"max\": "
                "\"1 GiB\"}}",
                i ? "," : "", gap, i + 1 == count ? twice : i);
    fprintf(out, "]}");
    assert_int_equal(fclose(out), 0);
    return text;
}

static ms_status read_budgets(const char *text, uint32_t *count, uint32_t *column, ms_error *err)
{
    const ms_json_source source = {.name = "b.json", .text = text, .length = strlen(text)};
    ms_arena *arena = ms_arena_create(0);
    ms_json *document = NULL;
    ms_budgets budgets = {0};
    assert_int_equal(ms_json_parse(&source, &document, err), MS_OK);
    ms_status status = ms_budgets_read(arena, ms_json_root(document), "b.json", &budgets, err);
    *count = budgets.count;
    *column = budgets.count ? budgets.items[budgets.count - 1].place->column : err->column;
    ms_json_free(document);
    ms_arena_free(arena);
    return status;
}

/* The place of each is known, on one line of megabytes as well. */
static void test_many_budgets(void **state)
{
    enum { COUNT = 20000 };
    static const char *const gaps[] = {"", "\n"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(gaps); i++) {
        ms_error err = {0};
        uint32_t count = 0, column = 0;
        char *text = many_budgets(COUNT, COUNT, gaps[i]);
        size_t line = i ? 10 : (size_t)(strstr(text, "\"b20000\"") - text) + 1;
        assert_int_equal(read_budgets(text, &count, &column, &err), MS_OK);
        assert_int_equal(count, COUNT);
        assert_int_equal(column, line);
        free(text);
        text = many_budgets(COUNT, 7, gaps[i]);
        assert_int_equal(read_budgets(text, &count, &column, &err), MS_ERR_CONFIG);
        assert_string_equal(err.text, "two budgets are named 'b7'");
        assert_int_equal(err.line, i ? COUNT + 1 : 1);
        free(text);
    }
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(amounts) + COUNT_OF(verdicts) + COUNT_OF(exits) + 2];
    size_t count = ADD_ROWS(tests, check_amount, amounts);
    count += ADD_ROWS(tests + count, check_verdict, verdicts);
    count += ADD_ROWS(tests + count, check_exit, exits);
    tests[count++] = (struct CMUnitTest){"shares", test_share, NULL, NULL, NULL};
    tests[count] = (struct CMUnitTest){"many budgets", test_many_budgets, NULL, NULL, NULL};
    return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
