/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands of a shell's text.
 */
#include "input/config/launch/shell/shell.h"

#include <ctype.h>
#include <string.h>

#include "input/config/launch/shell/shell_state.h"
#include "input/config/launch/shell/shell_word.h"

/* ---- shell assign ---- */

/* What a shell's text assigns to variables. */

static /* ---- variables ---- */

    size_t
    shell_assigned(const char *text, bool *adds)
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
        item->unknown = "it is declared as a number, whose value is not known";
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

/* Declares as a number the variable that a word names, or assigns to; without a name in it nothing.
 */
static ms_status shell_declare_integer(ms_shell *s, const char *word)
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
    size_t bytes = shell_assigned(word->text, &adds);
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

static /* ---- lists: NAME=(...) ---- */

    ms_status
    shell_read_list(ms_shell *s, bool is_inner)
{
    bool adds, is_one;
    uint32_t first = s->words.count, line = s->line;
    const ms_shell_word head = s->words.items[first - 1];
    size_t bytes = shell_assigned(head.text, &adds);
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

/* Variables that a command such as "read" or "unset" names are no longer known, nor are any behind
 * "source FILE". */
static ms_status shell_forget_changed(ms_shell *s, const ms_shell_word *words, uint32_t count)
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

/* Behind "((": skips to its end; what is assigned there is no longer known. */
static ms_status shell_skip_arithmetic(ms_shell *s)
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

/* ---- redirections ---- */

/* Those of a line are taken behind it. */
static void skip_heredocs(ms_shell *s)
{
    for (uint32_t i = 0; i < s->heredoc_count; i++)
        while (s->at < s->source.length) {
            size_t start = s->at;
            ms_shell_skip_line(s);
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

/* Commands that a script does not go on without. */
static bool is_sure(const char *name)
{
    static const char *const sure[] = {"cd",     "mkdir", "source", ".",     "echo",
                                       "export", "set",   "module", "conda", NULL};
    bool adds;
    return shell_assigned(name, &adds) > 0 || is_one_of(name, sure);
}

/* Without what memscope puts in front of what is not known. */
static ms_status clean(ms_shell *s, uint32_t first)
{
    for (uint32_t i = first; i < s->words.count; i++)
        if (strchr(s->words.items[i].text, MS_SHELL_UNKNOWN)) {
            char *to = ms_arena_strdup(s->arena, s->words.items[i].text);
            if (!to)
                return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for a word");
            s->words.items[i].text = to;
            for (const char *from = to; *from; from++)
                if (*from != MS_SHELL_UNKNOWN)
                    *to++ = *from;
            *to = '\0';
        }
    return MS_OK;
}

/* The text of `eval "..."` and `bash -c "..."`; NULL: it is neither. */
static const char *text_to_run(const ms_shell *s, uint32_t first)
{
    static const char *const shells[] = {"bash", "sh", "zsh", "/bin/bash", "/bin/sh", NULL};
    const ms_shell_word *words = s->words.items + first;
    uint32_t count = s->words.count - first;
    if (count == 2 && strcmp(words[0].text, "eval") == 0)
        return words[1].text;
    bool is_shell = count > 2 && is_one_of(words[0].text, shells) && *words[1].text == '-';
    return is_shell && strchr(words[1].text, 'c') ? words[2].text : NULL;
}

static ms_status read_commands(ms_shell *s, ms_shell_visit visit, void *context);

/* The commands of a text that another one runs, at the line of that. */
static ms_status run_text(ms_shell *s, const char *text, ms_shell_visit visit, void *context)
{
    const ms_json_source outer = s->source;
    const size_t at = s->at, bytes = strlen(text);
    const uint32_t line = s->line, heredocs = s->heredoc_count;
    char *inner = ms_arena_array(s->arena, char, line + bytes);
    s->expanded += line + bytes;
    if (s->expanded > MS_SHELL_MAX_BYTES || ++s->depth > MS_SHELL_MAX_NESTING)
        return ms_shell_fail(s, line, MS_ERR_LIMIT, "texts within texts are too long or too deep");
    if (!inner)
        return ms_fail(s->err, MS_ERR_NOMEM, "out of memory for a text");
    memset(inner, '\n', line - 1);
    memcpy(inner + line - 1, text, bytes + 1);
    s->source = (ms_json_source){outer.name, inner, line - 1 + bytes};
    s->at = s->heredoc_count = s->words.count = 0;
    ms_status status = read_commands(s, visit, context);
    s->source = outer;
    s->at = at;
    s->line = line;
    s->heredoc_count = heredocs;
    s->depth--;
    return status;
}

/* "export", or "declare -x". */
static bool exports(const ms_shell *s, uint32_t first)
{
    const char *next = first + 1 < s->words.count ? s->words.items[first + 1].text : "";
    return strcmp(s->words.items[first].text, "export") == 0 ||
           (*next == '-' && strchr(next, 'x') != NULL);
}

/* "declare -i", "local -ri". */
static bool declares_integers(const ms_shell *s, uint32_t first)
{
    const char *next = first + 1 < s->words.count ? s->words.items[first + 1].text : "";
    return *next == '-' && strchr(next, 'i') != NULL &&
           strcmp(s->words.items[first].text, "export") != 0;
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
    s->is_tested |= !is_sure(s->words.items[at].text);
    if (is_one_of(s->words.items[at].text, exporting))
        at++;
    for (uint32_t i = at; i < s->words.count && is_one; i++) {
        bool adds;
        is_one = shell_assigned(s->words.items[i].text, &adds) > 0 || at > first;
    }
    for (uint32_t i = at; i < s->words.count && is_one && status == MS_OK; i++) {
        bool was;
        const ms_shell_word word = s->words.items[i];
        if (at > first && declares_integers(s, first))
            status = shell_declare_integer(s, word.text);
        if (status == MS_OK)
            status = ms_shell_assign(s, &word, is_inner || s->is_optional, &was);
        if (at > first && exports(s, first))
            ms_shell_export(s, word.text);
    }
    if (is_one || status != MS_OK)
        return status;
    const char *text = text_to_run(s, first);
    if (text)
        return run_text(s, text, visit, context);
    status = clean(s, first);
    if (status == MS_OK)
        status = shell_forget_changed(s, s->words.items + first, s->words.count - first);
    if (status != MS_OK)
        return status;
    const ms_shell_words command = {s->words.items + first, s->words.count - first, 0};
    return visit(context, s, &command, is_inner);
}

/* The sign behind a command; "&&" and "||" say whether the next one runs. */
static void pass_sign(ms_shell *s, char c, bool is_behind_command)
{
    s->at++;
    if (c == '\n' && !is_behind_command)
        return;
    bool is_double = (c == '&' || c == '|') && ms_shell_peek(s) == c;
    s->at += is_double;
    if (!is_double && c != '|')
        s->is_tested = false;
    s->is_optional = is_double && (s->is_tested || c == '|');
}

/* A bracket, a line break or a sign that ends a command. */
static ms_status take_sign(ms_shell *s, ms_shell_visit visit, void *context)
{
    bool adds;
    char c = ms_shell_peek(s);
    const ms_shell_word *last = s->words.count ? &s->words.items[s->words.count - 1] : NULL;
    size_t bytes = last ? shell_assigned(last->text, &adds) : 0;
    if (c == '(' && bytes > 0 && s->at > 0 && s->source.text[s->at - 1] == '=')
        return shell_read_list(s, s->blocks.count > 0 || s->is_optional);
    const bool is_behind_command = s->words.count > 0;
    ms_status status = end_command(s, visit, context);
    s->words.count = 0;
    pass_sign(s, c, is_behind_command);
    if (status == MS_OK && c == '(' && ms_shell_peek(s) == '(') {
        s->is_tested = true;
        return shell_skip_arithmetic(s);
    }
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

static ms_status read_commands(ms_shell *s, ms_shell_visit visit, void *context)
{
    ms_status status = MS_OK;
    s->line = 1;
    while (status == MS_OK) {
        bool is_one;
        ms_shell_skip_blanks(s);
        char c = ms_shell_peek(s);
        if (s->at >= s->source.length)
            return end_command(s, visit, context);
        if (c == '#')
            ms_shell_skip_line(s);
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

ms_status ms_shell_read(ms_shell *s, ms_shell_visit visit, void *context)
{
    if (s->source.length > MS_SHELL_MAX_BYTES)
        return ms_fail(s->err, MS_ERR_LIMIT, "%.200s: larger than %d KiB", s->source.name,
                       MS_SHELL_MAX_BYTES >> 10);
    return read_commands(s, visit, context);
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
