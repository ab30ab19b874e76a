/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/launch/shell/shell_state.h"

#include <stdarg.h>
#include <string.h>

#include "base/json/place.h"

ms_status ms_shell_fail(const ms_shell *s, uint32_t line, ms_status status, const char *format, ...)
{
    va_list args;
    size_t at = 0, bytes;
    if (!s->err || s->err->status != MS_OK)
        return status;
    for (uint32_t i = 1; i < line && at < s->source.length; at++)
        i += s->source.text[at] == '\n';
    bytes = at;
    while (bytes < s->source.length && s->source.text[bytes] != '\n')
        bytes++;
    va_start(args, format);
    ms_error_vset(s->err, status, format, args);
    va_end(args);
    ms_json_place(&s->source, at, bytes > at ? bytes - at : 1, s->err);
    return status;
}

/* ---- variables ---- */

const ms_shell_variable *ms_shell_find(const ms_shell *s, const char *name)
{
    for (uint32_t i = s->variables.count; i-- > 0;)
        if (strcmp(s->variables.items[i].name, name) == 0)
            return &s->variables.items[i];
    return NULL;
}

ms_status ms_shell_set(ms_shell *s, const char *name, const ms_shell_word *items, uint32_t count,
                       bool is_list)
{
    ms_shell_variable *there = NULL, made = {.count = count, .is_list = is_list};
    for (uint32_t i = 0; i < s->variables.count; i++)
        if (strcmp(s->variables.items[i].name, name) == 0)
            there = &s->variables.items[i];
    if (!there && s->variables.count == MS_SHELL_MAX_VARIABLES)
        return ms_shell_fail(s, s->line, MS_ERR_LIMIT, "more than %d variables",
                             MS_SHELL_MAX_VARIABLES);
    made.is_exported = there && there->is_exported;
    made.is_integer = there && there->is_integer;
    made.name = there ? there->name : ms_arena_strdup(s->arena, name);
    made.items = ms_arena_array(s->arena, ms_shell_word, count);
    if (made.items && count > 0)
        memcpy(made.items, items, count * sizeof *items);
    bool is_kept = made.name && made.items && (there || ms_vec_push(&s->variables, made));
    if (there && is_kept)
        *there = made;
    return is_kept ? MS_OK : ms_fail(s->err, MS_ERR_NOMEM, "out of memory for a variable");
}

void ms_shell_export(ms_shell *s, const char *word)
{
    const size_t bytes = strcspn(word, "+=");
    for (uint32_t i = 0; i < s->variables.count; i++)
        if (strncmp(s->variables.items[i].name, word, bytes) == 0 &&
            s->variables.items[i].name[bytes] == '\0')
            s->variables.items[i].is_exported = true;
}

/* ---- characters ---- */

char ms_shell_peek(const ms_shell *s)
{
    return s->at < s->source.length ? s->source.text[s->at] : '\0';
}

static char following(const ms_shell *s)
{
    return s->at + 1 < s->source.length ? s->source.text[s->at + 1] : '\0';
}

static void pass(ms_shell *s)
{
    s->line += ms_shell_peek(s) == '\n';
    s->at++;
}

void ms_shell_skip_line(ms_shell *s)
{
    while (s->at < s->source.length && s->source.text[s->at] != '\n')
        s->at++;
}

void ms_shell_skip_blanks(ms_shell *s)
{
    for (;;) {
        if (ms_shell_peek(s) == '\\' && following(s) == '\n') {
            pass(s);
            pass(s);
        } else if (ms_shell_peek(s) == '\\' && following(s) == '\r') {
            pass(s);
            pass(s);
            if (ms_shell_peek(s) == '\n')
                pass(s);
        } else if (ms_shell_peek(s) && strchr(" \t\r", ms_shell_peek(s))) {
            pass(s);
        } else {
            return;
        }
    }
}

void ms_shell_end(ms_shell *s)
{
    ms_vec_free(&s->variables);
    ms_vec_free(&s->words);
    ms_vec_free(&s->text);
    ms_vec_free(&s->blocks);
}
