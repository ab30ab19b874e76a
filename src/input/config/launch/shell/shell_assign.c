/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a shell's text assigns to variables.
 */
#include "input/config/launch/shell/shell_assign.h"

#include <ctype.h>
#include <string.h>

#include "input/config/launch/shell/shell_number.h"
#include "input/config/launch/shell/shell_word.h"

/* ---- variables ---- */

size_t ms_shell_assigned(const char *text, bool *adds)
{
    size_t bytes = 0;
    while (isalnum((unsigned char)text[bytes]) || text[bytes] == '_')
        bytes++;
    bool is_name = bytes > 0 && !isdigit((unsigned char)*text);
    *adds = text[bytes] == '+' && text[bytes + 1] == '=';
    return is_name && (*adds || text[bytes] == '=') ? bytes : 0;
}

static void compute(const ms_shell *s, ms_shell_word *item)
{
    const char *number = item->unknown ? NULL : ms_shell_integer(s, item->text);
    if (number)
        item->text = number;
    else if (!item->unknown)
        item->unknown = "it is declared as a number, and what that comes to is not known";
}

static ms_status set_words(ms_shell *s, const char *name, bool adds, const ms_shell_word *items,
                           uint32_t count, bool is_list)
{
    const ms_shell_variable *before = adds ? ms_shell_find(s, name) : NULL;
    const ms_shell_variable *there = ms_shell_find(s, name);
    ms_shell_word joined;
    if (!before && count == 1 && there && there->is_integer) {
        joined = items[0];
        compute(s, &joined);
        return ms_shell_set(s, name, &joined, 1, is_list);
    }
    if (!before)
        return ms_shell_set(s, name, items, count, is_list);
    if (!is_list && before->count == 1 && count == 1) {
        joined = items[0];
        joined.text = ms_arena_printf(s->arena, "%s%s", before->items[0].text, items[0].text);
        joined.unknown = items[0].unknown ? items[0].unknown : before->items[0].unknown;
        if (before->is_integer)
            joined.text = ms_arena_printf(s->arena, "%s+%s", before->items[0].text, items[0].text);
        s->expanded += strlen(before->items[0].text);
        if (!joined.text)
            return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for a variable");
        if (s->expanded > MS_SHELL_MAX_BYTES)
            return ms_shell_fail(s, s->line, MS_ERR_LIMIT, "the text expands to more than %d KiB",
                                 MS_SHELL_MAX_BYTES >> 10);
        if (before->is_integer)
            compute(s, &joined);
        return ms_shell_set(s, name, &joined, 1, false);
    }
    uint32_t all = before->count + count;
    ms_shell_word *both =
        all <= MS_SHELL_MAX_WORDS ? ms_arena_array(s->arena, ms_shell_word, all) : NULL;
    if (!both)
        return ms_shell_fail(s, s->line, MS_ERR_LIMIT, "more than %d words", MS_SHELL_MAX_WORDS);
    memcpy(both, before->items, before->count * sizeof *both);
    if (count > 0)
        memcpy(both + before->count, items, count * sizeof *both);
    s->expanded += all * sizeof *both;
    if (s->expanded > MS_SHELL_MAX_BYTES)
        return ms_shell_fail(s, s->line, MS_ERR_LIMIT, "lists of more than %d KiB",
                             MS_SHELL_MAX_BYTES >> 10);
    return ms_shell_set(s, name, both, all, true);
}

ms_status ms_shell_declare_integer(ms_shell *s, const char *word)
{
    const ms_shell_word none = {"", s->line, "it has no value yet"};
    const char *name = ms_arena_printf(s->arena, "%.*s", (int)strcspn(word, "+="), word);
    ms_status status = MS_OK;
    if (!name)
        return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for a variable");
    if (!*name || *name == '-')
        return MS_OK;
    if (!ms_shell_find(s, name))
        status = ms_shell_set(s, name, &none, 1, false);
    for (uint32_t i = 0; i < s->variables.count; i++)
        if (strcmp(s->variables.items[i].name, name) == 0)
            s->variables.items[i].is_integer = true;
    return status;
}

ms_status ms_shell_assign(ms_shell *s, const ms_shell_word *word, bool is_inner, bool *is_one)
{
    bool adds;
    size_t bytes = ms_shell_assigned(word->text, &adds);
    *is_one = bytes > 0;
    if (!*is_one)
        return MS_OK;
    ms_shell_word value = *word;
    const char *name = ms_arena_printf(s->arena, "%.*s", (int)bytes, word->text);
    if (is_inner && !value.unknown)
        value.unknown = ms_arena_printf(s->arena,
                                        "line %u: it is assigned in a loop, a condition or a "
                                        "function",
                                        (unsigned)word->line);
    value.text = word->text + bytes + (adds ? 2 : 1);
    if (!name)
        return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for a variable");
    return set_words(s, name, adds, &value, 1, false);
}

/* ---- lists: NAME=(...) ---- */

ms_status ms_shell_read_list(ms_shell *s, bool is_inner)
{
    bool adds, is_one;
    uint32_t first = s->words.count, line = s->line;
    const ms_shell_word head = s->words.items[first - 1];
    size_t bytes = ms_shell_assigned(head.text, &adds);
    const char *name = ms_arena_printf(s->arena, "%.*s", (int)bytes, head.text);
    s->at++;
    for (;;) {
        ms_shell_skip_blanks(s);
        char c = ms_shell_peek(s);
        if (s->at >= s->source.length)
            return ms_shell_fail(s, line, MS_ERR_SYNTAX, "'(' without ')'");
        if (c == ')')
            break;
        if (c == '#') {
            ms_shell_skip_line(s);
        } else if (c == '\n' || strchr(";|&<>(", c)) {
            s->line += c == '\n';
            s->at++;
        } else {
            ms_status status = ms_shell_word_read(s, &is_one);
            if (status != MS_OK)
                return status;
        }
    }
    s->at++;
    ms_shell_word *items = s->words.items + first;
    for (uint32_t i = first; is_inner && i < s->words.count; i++)
        s->words.items[i].unknown = "it is assigned in a loop, a condition or a function";
    if (!name)
        return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for a variable");
    ms_status status = set_words(s, name, adds, items, s->words.count - first, true);
    s->words.count = first - 1;
    return status;
}

/* ---- commands that change variables ---- */

/* Bytes of the name that a text begins with. */
static size_t name_bytes(const char *text)
{
    size_t bytes = 0;
    while (isalnum((unsigned char)text[bytes]) || text[bytes] == '_')
        bytes++;
    return isdigit((unsigned char)*text) ? 0 : bytes;
}

static ms_status forget(ms_shell *s, const char *name, size_t bytes, const char *command)
{
    const char *copy = ms_arena_printf(s->arena, "%.*s", (int)bytes, name);
    const char *why = ms_arena_printf(s->arena, "line %u: '%s' changes it", s->line, command);
    const ms_shell_word value = {"", s->line, why};
    if (!copy || !why)
        return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for a variable");
    return ms_shell_set(s, copy, &value, 1, false);
}

/* Files that a script takes an environment from, which set none of its own variables. */
static bool is_environment(const char *path)
{
    static const char *const names[] = {"activate", ".bashrc", ".profile", "conda.sh", "cuda.sh"};
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(slash ? slash + 1 : path, names[i]) == 0)
            return true;
    return false;
}

/* What another file that the shell reads may assign, which is any of them. */
static ms_status forget_all(ms_shell *s, const char *command)
{
    ms_status status = MS_OK;
    const size_t count = s->variables.count;
    for (size_t i = 0; i < count && status == MS_OK; i++) {
        const char *name = s->variables.items[i].name;
        status = forget(s, name, strlen(name), command);
    }
    return status;
}

ms_status ms_shell_forget_changed(ms_shell *s, const ms_shell_word *words, uint32_t count)
{
    const bool reads = strcmp(words->text, "source") == 0 || strcmp(words->text, ".") == 0;
    if (reads && count > 1 && !is_environment(words[1].text))
        return forget_all(s, "source");
    static const char *const commands[] = {"read",    "unset",     "let",   "mapfile",
                                           "getopts", "readarray", "printf"};
    ms_status status = MS_OK;
    size_t which = 0;
    while (which < sizeof commands / sizeof *commands && strcmp(words->text, commands[which]) != 0)
        which++;
    bool is_printf = strcmp(words->text, "printf") == 0;
    if (which == sizeof commands / sizeof *commands ||
        (is_printf && (count < 3 || strcmp(words[1].text, "-v") != 0)))
        return MS_OK;
    for (uint32_t i = 1; i < (is_printf ? 3 : count) && status == MS_OK; i++) {
        size_t bytes = name_bytes(words[i].text);
        if (bytes > 0)
            status = forget(s, words[i].text, bytes, commands[which]);
    }
    return status;
}

/* Whether what follows a name changes it: "=", "+=", "++". */
static bool changes(const char *sign)
{
    sign += strspn(sign, " ");
    if (strncmp(sign, "++", 2) == 0 || strncmp(sign, "--", 2) == 0)
        return true;
    sign += *sign ? strspn(sign, "+-*/%&|^<>") : 0;
    return sign[0] == '=' && sign[1] != '=' && (sign[-1] != '<' || sign[-2] == '<') &&
           (sign[-1] != '>' || sign[-2] == '>');
}

ms_status ms_shell_skip_arithmetic(ms_shell *s)
{
    const char *end = "))";
    ms_status status = MS_OK;
    size_t start = s->at, from = s->at;
    while (s->at + 1 < s->source.length && strncmp(s->source.text + s->at, end, 2) != 0)
        s->at++;
    const char *text =
        ms_arena_printf(s->arena, "  %.*s", (int)(s->at - start), s->source.text + start);
    if (!text)
        return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for a text");
    for (; from < s->at; from++)
        s->line += s->source.text[from] == '\n';
    for (const char *at = text + 2; *at && status == MS_OK;) {
        size_t bytes = name_bytes(at);
        if (bytes > 0 &&
            (changes(at + bytes) || strncmp(at - 2, "++", 2) == 0 || strncmp(at - 2, "--", 2) == 0))
            status = forget(s, at, bytes, "((");
        at += bytes > 0 ? bytes : 1;
    }
    s->at += s->at + 1 < s->source.length ? 2 : 0;
    return status;
}
