/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Patterns in ECMAScript's syntax, searched in names as llama.cpp searches them.
 */
#include "unit/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/pattern.h"

typedef struct search_case {
    const char *pattern, *subject;
    bool is_found;
} search_case;

/* What std::regex_search of libstdc++ answers. */
static const search_case searches[] = {
    {"exps", "blk.0.ffn_up_exps.weight", true},
    {"exps", "blk.0.ffn_up.weight", false},
    {"blk\\.3\\.", "blk.3.attn_q.weight", true},
    {"blk\\.3\\.", "blk.13.attn_q.weight", false},
    {"blk.3.", "blk03.", true},
    {"^blk", "blk.0", true},
    {"^lk", "blk.0", false},
    {"weight$", "output.weight", true},
    {"weight$", "output.weights", false},
    {"^output$|^token", "token_embd.weight", true},
    {"^output$|^token", "output.weight", false},
    {"(up|gate)_(ch|)exps", "ffn_gate_chexps", true},
    {"(up|gate)_(ch|)exps", "ffn_down_exps", false},
    {"\\.(1[0-9]|2\\d)\\.", "blk.27.x", true},
    {"\\.(1[0-9]|2\\d)\\.", "blk.7.x", false},
    {"(?:ab)+c", "xababc", true},
    {"a{2,3}b", "xaab", true},
    {"a{2,3}b", "xab", false},
    {"a*?b", "b", true},
    {"[^a-z]", "abc", false},
    {"[[:digit:]]+_", "abc12_", true},
    {"[[:alpha:]_]$", "abc_", true},
    {"\\W", "a_b", false},
    {"]", "a]", true},
    {"}", "a}", true},
    {"", "anything", true},
    {"a|", "xyz", true},
};

static void test_search(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof searches / sizeof searches[0]; i++) {
        const search_case *c = &searches[i];
        ms_error err = {.status = MS_OK};
        uint64_t steps = MS_PATTERN_MOST_STEPS;
        ms_pattern *pattern = NULL;
        print_message("%s in %s\n", c->pattern, c->subject);
        assert_int_equal(ms_pattern_new_ecmascript(c->pattern, &pattern, &err), MS_OK);
        assert_int_equal(ms_pattern_is_in(pattern, c->subject, &steps), c->is_found);
        assert_true(steps > 0 && steps < MS_PATTERN_MOST_STEPS);
        ms_pattern_free(pattern);
    }
}

/* Back references, look-around, what ECMAScript has otherwise than Python, and what is too large.
 */
static const char *const refused[] = {"(a)\\1",
                                      "(.*)(.*)(.*)(.*)\\1\\2\\3\\4z",
                                      "(?=a)",
                                      "(?!a)b",
                                      "\\bword",
                                      "[]a]",
                                      "[^]",
                                      "a{,3}",
                                      "{2}",
                                      "[[=a=]]",
                                      "[[.a.]",
                                      "[[:none:]]",
                                      "a[",
                                      "(a",
                                      "a)",
                                      "*a",
                                      "a{1000}{1000}{1000}",
                                      "a\\",
                                      "(a{255}){255}"};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ms_error err = {.status = MS_OK};
        ms_pattern *pattern = NULL;
        print_message("%s\n", refused[i]);
        assert_int_equal(ms_pattern_new_ecmascript(refused[i], &pattern, &err), MS_ERR_CONFIG);
        assert_null(pattern);
        assert_non_null(strstr(err.text, "pattern '"));
    }
}

/* What makes a backtracking matcher run for years takes states times characters here. */
static void test_steps_are_bounded(void **state)
{
    (void)state;
    enum { LENGTH = 4000 };
    char *subject = malloc(LENGTH + 1);
    ms_error err = {.status = MS_OK};
    ms_pattern *pattern = NULL;
    uint64_t steps = MS_PATTERN_MOST_STEPS, few = 1000;
    assert_non_null(subject);
    memset(subject, 'a', LENGTH);
    subject[LENGTH] = '\0';
    assert_int_equal(ms_pattern_new_ecmascript("(a*)*(a|aa)+(.*a){20}$b", &pattern, &err), MS_OK);
    assert_false(ms_pattern_is_in(pattern, subject, &steps));
    assert_true(steps > MS_PATTERN_MOST_STEPS - (uint64_t)LENGTH * 400);
    assert_false(ms_pattern_is_in(pattern, subject, &few));
    assert_int_equal(few, 0);
    ms_pattern_free(pattern);
    free(subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_steps_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
