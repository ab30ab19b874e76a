/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands of a shell's text.
 */
#include "config/launch/shell.h"

#include <ctype.h>
#include <string.h>

#include "config/launch/shell_word.h"

/* ---- variables ---- */

/* Bytes of the name that a text assigns to, 0: none; `*adds` for "+=". */
static size_t assigned(const char *text, bool *adds)
{
    size_t bytes = 0;
    while (isalnum((unsigned char)text[bytes]) || text[bytes] == '_')
        bytes++;
    bool is_name = bytes > 0 && !isdigit((unsigned char)*text);
    *adds = text[bytes] == '+' && text[bytes + 1] == '=';
    return is_name && (*adds || text[bytes] == '=') ? bytes : 0;
}

static ms_status set_words(ms_shell *s, const char *name, bool adds, const ms_shell_word *items,
                           uint32_t count, bool is_list)
{
    const ms_shell_variable *before = adds ? ms_shell_find(s, name) : NULL;
    ms_shell_word joined;
    if (!before)
        return ms_shell_set(s, name, items, count, is_list);
    if (!is_list && before->count == 1 && count == 1) {
        joined = items[0];
        joined.text = ms_arena_printf(s->arena, "%s%s", before->items[0].text, items[0].text);
        joined.unknown = items[0].unknown ? items[0].unknown : before->items[0].unknown;
        s->expanded += strlen(before->items[0].text);
        if (!joined.text)
            return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for a variable");
        if (s->expanded > MS_SHELL_MAX_BYTES)
            return ms_shell_fail(s, s->line, MS_ERR_LIMIT, "the text expands to more than %d KiB",
                                 MS_SHELL_MAX_BYTES >> 10);
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

ms_status ms_shell_assign(ms_shell *s, const ms_shell_word *word, bool is_inner, bool *is_one)
{
    bool adds;
    size_t bytes = assigned(word->text, &adds);
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

static void skip_line(ms_shell *s)
{
    while (s->at < s->source.length && s->source.text[s->at] != '\n')
        s->at++;
}

static ms_status read_list(ms_shell *s, bool is_inner)
{
    bool adds, is_one;
    uint32_t first = s->words.count, line = s->line;
    const ms_shell_word head = s->words.items[first - 1];
    size_t bytes = assigned(head.text, &adds);
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
            skip_line(s);
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

/* ---- redirections ---- */

/* Those of a line are taken behind it. */
static void skip_heredocs(ms_shell *s)
{
    for (uint32_t i = 0; i < s->heredoc_count; i++)
        while (s->at < s->source.length) {
            size_t start = s->at;
            skip_line(s);
            const char *line = s->source.text + start;
            size_t bytes = s->at - start, length = strlen(s->heredocs[i]);
            s->line += s->at < s->source.length;
            s->at += s->at < s->source.length;
            while (bytes > 0 && *line == '\t')
                line++, bytes--;
            if (bytes == length && memcmp(line, s->heredocs[i], length) == 0)
                break;
        }
    s->heredoc_count = 0;
}

/* "2>&1", "> log", "<<EOF": where it goes is of no consequence. */
static ms_status skip_redirection(ms_shell *s)
{
    bool is_one, is_heredoc = false;
    uint32_t before = s->words.count;
    for (int i = 0; i < 3 && ms_shell_peek(s) && strchr("<>&|", ms_shell_peek(s)); i++) {
        is_heredoc = i == 1 && ms_shell_peek(s) == '<' && s->source.text[s->at - 1] == '<';
        s->at++;
    }
    if (is_heredoc && ms_shell_peek(s) == '-')
        s->at++;
    ms_shell_skip_blanks(s);
    ms_status status = ms_shell_word_read(s, &is_one);
    if (status == MS_OK && is_heredoc && s->words.count > before) {
        if (s->heredoc_count == sizeof s->heredocs / sizeof *s->heredocs)
            return ms_shell_fail(s, s->line, MS_ERR_LIMIT, "too many texts within a line");
        s->heredocs[s->heredoc_count++] = s->words.items[before].text;
    }
    s->words.count = before;
    return status;
}

static bool is_redirection(const ms_shell *s)
{
    size_t at = s->at;
    while (at < s->source.length && isdigit((unsigned char)s->source.text[at]))
        at++;
    if (at >= s->source.length)
        return false;
    char c = s->source.text[at];
    return c == '<' || c == '>' ||
           (c == '&' && at == s->at && at + 1 < s->source.length && s->source.text[at + 1] == '>');
}

/* ---- commands ---- */

static ms_status open_block(ms_shell *s, char kind)
{
    if (s->blocks.count >= MS_SHELL_MAX_WORDS)
        return ms_shell_fail(s, s->line, MS_ERR_LIMIT, "nested too deep");
    return ms_vec_push(&s->blocks, kind) ? MS_OK : ms_fail(s->err, MS_ERR_NOMEM, "out of memory");
}

static void close_block(ms_shell *s, char kind)
{
    if (s->blocks.count > 0 && s->blocks.items[s->blocks.count - 1] == kind)
        s->blocks.count--;
}

static bool is_one_of(const char *word, const char *const *list)
{
    while (*list && strcmp(*list, word) != 0)
        list++;
    return *list;
}

/* Takes the words of the shell's own off the front; `*is_done`: no command is left. */
static ms_status take_reserved(ms_shell *s, uint32_t *first, bool *is_done)
{
    static const char *const opens[] = {"if", "while", "until", "{", NULL};
    static const char *const heads[] = {"for", "case", "select", "function", NULL};
    static const char *const middle[] = {"then", "else", "elif", "do", "!", "time", NULL};
    static const char *const closes[] = {"fi", "done", "esac", "}", NULL};
    ms_status status = MS_OK;
    for (; *first < s->words.count && status == MS_OK; ++*first) {
        const ms_shell_word *word = &s->words.items[*first];
        if (is_one_of(word->text, opens)) {
            status = open_block(s, 'b');
        } else if (is_one_of(word->text, heads)) {
            bool is_loop =
                *word->text == 'f' && word->text[1] == 'o' && *first + 1 < s->words.count;
            ms_shell_word value = {"", word->line, "a loop assigns it"};
            *is_done = true;
            bool is_function = strcmp(word->text, "function") == 0;
            bool is_open = strcmp(s->words.items[s->words.count - 1].text, "{") == 0;
            status = is_function && !is_open ? MS_OK : open_block(s, 'b');
            return status == MS_OK && is_loop
                       ? ms_shell_set(s, s->words.items[*first + 1].text, &value, 1, false)
                       : status;
        } else if (is_one_of(word->text, closes)) {
            close_block(s, 'b');
        } else if (!is_one_of(word->text, middle)) {
            return MS_OK;
        }
    }
    *is_done = true;
    return status;
}

static ms_status end_command(ms_shell *s, ms_shell_visit visit, void *context)
{
    static const char *const exporting[] = {"export",   "declare", "local",
                                            "readonly", "typeset", NULL};
    uint32_t first = 0;
    bool is_done = false, is_one = true;
    ms_status status = take_reserved(s, &first, &is_done);
    bool is_inner = s->blocks.count > 0;
    uint32_t at = first;
    if (status != MS_OK || is_done)
        return status;
    if (is_one_of(s->words.items[at].text, exporting))
        at++;
    for (uint32_t i = at; i < s->words.count && is_one; i++) {
        bool adds;
        is_one = assigned(s->words.items[i].text, &adds) > 0 || at > first;
    }
    for (uint32_t i = at; i < s->words.count && is_one && status == MS_OK; i++) {
        bool was;
        const ms_shell_word word = s->words.items[i];
        status = ms_shell_assign(s, &word, is_inner, &was);
    }
    if (is_one || status != MS_OK)
        return status;
    const ms_shell_words command = {s->words.items + first, s->words.count - first, 0};
    return visit(context, s, &command, is_inner);
}

/* A bracket, a line break or a sign that ends a command. */
static ms_status take_sign(ms_shell *s, ms_shell_visit visit, void *context)
{
    bool adds;
    char c = ms_shell_peek(s);
    const ms_shell_word *last = s->words.count ? &s->words.items[s->words.count - 1] : NULL;
    size_t bytes = last ? assigned(last->text, &adds) : 0;
    if (c == '(' && bytes > 0 && s->at > 0 && s->source.text[s->at - 1] == '=')
        return read_list(s, s->blocks.count > 0);
    ms_status status = end_command(s, visit, context);
    s->words.count = 0;
    s->at++;
    if (status == MS_OK && c == '(')
        status = open_block(s, '(');
    if (c == ')')
        close_block(s, '(');
    if (c == '\n') {
        s->line++;
        skip_heredocs(s);
    }
    return status;
}

ms_status ms_shell_read(ms_shell *s, ms_shell_visit visit, void *context)
{
    ms_status status = MS_OK;
    s->line = 1;
    if (s->source.length > MS_SHELL_MAX_BYTES)
        return ms_fail(s->err, MS_ERR_LIMIT, "%.200s: larger than %d KiB", s->source.name,
                       MS_SHELL_MAX_BYTES >> 10);
    while (status == MS_OK) {
        bool is_one;
        ms_shell_skip_blanks(s);
        char c = ms_shell_peek(s);
        if (s->at >= s->source.length)
            return end_command(s, visit, context);
        if (c == '#')
            skip_line(s);
        else if (is_redirection(s)) {
            while (isdigit((unsigned char)ms_shell_peek(s)))
                s->at++;
            status = skip_redirection(s);
        } else if (c && strchr("\n;|&()", c))
            status = take_sign(s, visit, context);
        else
            status = ms_shell_word_read(s, &is_one);
    }
    return status;
}

const char *ms_shell_quote(ms_arena *arena, const char *word)
{
    static const char quote[] = "'\\''";
    size_t used = 0;
    char *text = ms_arena_array(arena, char, 4 * strlen(word) + 3);
    if (!text)
        return NULL;
    text[used++] = '\'';
    for (; *word; word++)
        if (*word == '\'') {
            memcpy(text + used, quote, sizeof quote - 1);
            used += sizeof quote - 1;
        } else {
            text[used++] = *word;
        }
    text[used++] = '\'';
    text[used] = '\0';
    return text;
}
