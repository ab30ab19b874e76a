/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Words that a shell makes of a text, by what the last command of it comes to.
 */
#include "unit/support.h"

#include <string.h>

#include "input/config/launch/shell/shell.h"

typedef struct row {
    const char *text, *words; /* words between "|"; "?" behind one that is not known */
} row;

static const row rows[] = {
    {"a b  c", "a|b|c"},
    {"a 'b  c' \"d $X\"", "a|b  c|d $X?"},
    {"X=1; a $X ${X} \"$X\"y", "a|1|1|1y"},
    {"X='b c'; a $X \"$X\"", "a|b|c|b c"},
    {"X=b\nX+=c\na $X", "a|bc"},
    {"X=(b 'c d' # e\n f)\na \"${X[@]}\" ${X[*]}", "a|b|c d|f|b|c d|f"},
    {"X=(b); X+=(c); a ${X[@]}", "a|b|c"},
    {"a ${X:-b} ${X-c} ${Y:-${X:-d}}", "a|b|c|d"},
    {"X=; a ${X:-b} ${X-c}", "a|b"},
    {"export X=1 Y=2; a $X$Y", "a|12"},
    {"a \\\n  b \\\n c # d", "a|b|c"},
    {"a \"\" ''", "a||"},
    {"a $NO b", "a|$NO?|b"},
    {"a $(b c) `d` $((1 + b)) e", "a|?|?|?|e"},
    {"X=4; a $(expr 16 / $X) $(expr 32 / ${X} / 2) $((X * 3)) $((16/$X))", "a|4|4|12|4"},
    {"a $(expr 7 % 4 \\* 2) b$((2 + 3 - 1))c $(expr 1)", "a|6|b4c|?"},
    {"a $(expr 1 / 0) $((1 - 2)) $((2 * 3 + 1)) $((9999999999 * 1)) $(expr b / 2)", "a|?|?|?|?|?"},
    {"X=$(b); Y=(2 3); a $((4 / X)) $((4 / Y)) $((4 /)) $(( (4) / 2))", "a|?|?|?|?"},
    {"a $((100000 * 100000)) \"$((6 / 2))\" $(echo 3)", "a|?|3|?"},
    {"X=010; a $((010 * 1)) $((X + 1)) $(expr 010 + 1) $((08 * 1)) $((0 + 1))", "a|8|9|11|?|1"},
    {"declare -i X=2*3 Y; Y=X+1; X+=4; a $X $Y", "a|10|7"},
    {"declare -ri X=$(b); local -i Y=b; typeset -i Z=8; a $X $Y $Z", "a|?|b?|8"},
    {"declare -i X; X=010; a $X", "a|8"},
    {"declare -x X=2*3; a $X", "a|2*3"},
    {"X=$(b); a $X", "a|?"},
    {"if b; then X=1; fi; a $X", "a|1?"},
    {"for i in 1 2; do b; done; a $i", "a|?"},
    {"f() { X=1; }; a $X", "a|1?"},
    {"a 2>&1 > b < c &> d | tee e", "tee|e"},
    {"a 2>&1 > b", "a"},
    {"cat <<E\nb $(\nE\na c", "a|c"},
    {"cat <<-'E' > f\n\tb\n\tE\na c", "a|c"},
    {"a \"b\\\"c\\d\" e\\ f", "a|b\"c\\d|e f"},
    {"a $1 \"$@\" $#", "a|$1?|?"},
    {"a 1,2 b=c --d=e {f}", "a|1,2|b=c|--d=e|{f}"},
    {"X=\"--a $(b) --c 4\"; a $X", "a|--a|?|--c|4"},
    {"if b; then X=' --a  3 '; fi; a $X", "a|--a?|3?"},
    {"X=1; read -r X; a $X", "a|?"},
    {"X=1; unset X; a $X", "a|?"},
    {"X=1; source ./env.sh; Y=2; a $X $Y", "a|?|2"},
    {"X=1; . venv/bin/activate; a $X", "a|1"},
    {"X=1; let X=X*2; a $X", "a|?"},
    {"X=1; printf -v X 16; a $X", "a|?"},
    {"X=1; printf '%s' X; a $X", "a|1"},
    {"X=1; Y=2; Z=3; ((X *= Y, Z == 3)); a $X $Y $Z", "a|?|2|3"},
    {"X=1; ((X++)); a $X", "a|?"},
    {"X=1; [ $Y ] && X=2; a $X", "a|2?"},
    {"X=1; [[ $Y == z && 1 ]] &&\n X=2; a $X", "a|2?"},
    {"X=1; b || X=2; a $X", "a|2?"},
    {"cd b && X=2 && Y=3; [ c ]; Z=4; a $X $Y $Z", "a|2|3|4"},
    {"[ b ] && X=(c d); a ${X[@]}", "a|c?|d?"},
    {": ${X:=8}; a $X ${X:=9}", "a|8|8"},
    {"X='a b'; eval $X", "eval|a|b"},
    {"X='a b \"c d\"'; eval \"$X\"", "a|b|c d"},
    {"X=1; bash -lc \"a $X $(b)\"", "a|1|?"},
    {"bash -c 'X=1; eval \"a \\$X\"'", "a|1"},
};

typedef struct found {
    char text[256];
} found;

static ms_status take(void *context, const ms_shell *shell, const ms_shell_words *words,
                      bool is_inner)
{
    found *f = context;
    size_t used = 0;
    (void)shell, (void)is_inner;
    for (uint32_t i = 0; i < words->count; i++)
        used += (size_t)snprintf(f->text + used, sizeof f->text - used, "%s%s%s", i ? "|" : "",
                                 words->items[i].text, words->items[i].unknown ? "?" : "");
    return MS_OK;
}

static ms_status read_text(const char *text, size_t length, found *f, ms_error *err)
{
    ms_arena *arena = ms_arena_create(0);
    ms_shell shell = {.arena = arena, .source = {"a.sh", text, length}, .err = err};
    ms_status status = ms_shell_read(&shell, take, f);
    ms_shell_end(&shell);
    ms_arena_free(arena);
    return status;
}

static void words_are_followed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        found f = {""};
        ms_error err = {0};
        assert_int_equal(read_text(rows[i].text, strlen(rows[i].text), &f, &err), MS_OK);
        assert_string_equal(f.text, rows[i].words);
    }
}

typedef struct refusal {
    const char *text;
    ms_status status;
    uint32_t line;
} refusal;

static const refusal refusals[] = {
    {"a\nb 'c", MS_ERR_SYNTAX, 2},      {"a \"b\nc", MS_ERR_SYNTAX, 1},
    {"a ${b", MS_ERR_SYNTAX, 1},        {"a\n\n$(b", MS_ERR_SYNTAX, 3},
    {"a\nb \\ \n c", MS_ERR_SYNTAX, 2}, {"X=(a\nb", MS_ERR_SYNTAX, 1},
    {"a `b", MS_ERR_SYNTAX, 1},
};

static void what_does_not_end_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        found f = {""};
        ms_error err = {0};
        const refusal *r = &refusals[i];
        assert_int_equal(read_text(r->text, strlen(r->text), &f, &err), r->status);
        assert_string_equal(err.file, "a.sh");
        assert_int_equal(err.line, r->line);
    }
    found f = {""};
    ms_error err = {0};
    assert_int_equal(read_text("a\0b", 3, &f, &err), MS_ERR_SYNTAX);
}

/* Each line doubles what a variable has. */
static void what_grows_is_bounded(void **state)
{
    char text[4096] = "X=0123456789\n";
    found f = {""};
    ms_error err = {0};
    (void)state;
    for (int i = 0; i < 200; i++)
        strcat(text, "X=$X$X\n");
    assert_int_equal(read_text(text, strlen(text), &f, &err), MS_ERR_LIMIT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_followed),
        cmocka_unit_test(what_does_not_end_is_refused),
        cmocka_unit_test(what_grows_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
