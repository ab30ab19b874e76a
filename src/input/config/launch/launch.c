/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/launch/launch.h"

#include <stdlib.h>
#include <string.h>

#include "input/config/launch/launch_class.h"
#include "input/config/launch/launchers.h"
#include "input/config/launch/programs.h"
#include "input/config/launch/shell/shell.h"
#include "input/config/launch/shell/shell_assign.h"
#include "input/config/model/input.h"
#include "base/json/read.h"

static ms_status fail_memory(const ms_launch *l)
{
    return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for the launch");
}

/* ---- which command is the launch ---- */

typedef struct choice {
    ms_launch *l;
    ms_launch_class class;
    uint32_t line;
    ms_shell_word *words;
    uint32_t count;
    uint32_t equals; /* of the same class */
    uint32_t second;
    bool is_inner;
} choice;

static ms_status consider(void *context, const ms_shell *shell, const ms_shell_words *words,
                          bool is_inner)
{
    choice *c = context;
    ms_launch_class class = ms_launch_class_of(words);
    if (class == MS_LAUNCH_NONE ||
        (c->class != MS_LAUNCH_NONE && c->class != MS_LAUNCH_SCRIPT && class == MS_LAUNCH_SCRIPT) ||
        (class < c->class && c->class != MS_LAUNCH_SCRIPT))
        return MS_OK;
    if (class == c->class) {
        c->second = c->equals++ ? c->second : words->items[0].line;
        return MS_OK;
    }
    c->class = class;
    c->equals = 0;
    c->line = words->items[0].line;
    c->is_inner = is_inner;
    c->count = words->count;
    c->words = ms_arena_array(shell->arena, ms_shell_word, words->count);
    if (!c->words)
        return fail_memory(c->l);
    memcpy(c->words, words->items, words->count * sizeof *c->words);
    return MS_OK;
}

static ms_status choose(const choice *c)
{
    const ms_launch *l = c->l;
    if (c->class == MS_LAUNCH_NONE)
        return ms_shell_fail(&l->shell, 1, MS_ERR_CONFIG,
                             "no launch is found: accelerate launch, torchrun, deepspeed, trl, "
                             "llamafactory-cli, axolotl, swift, tune run and python are read");
    if (c->equals)
        return ms_shell_fail(&l->shell, c->second, MS_ERR_CONFIG,
                             "a second launch, beside that of line %u: give the one that is meant "
                             "(--launch 'accelerate launch ...')",
                             (unsigned)c->line);
    if (c->is_inner)
        return ms_shell_fail(&l->shell, c->line, MS_ERR_CONFIG,
                             "this launch stands in a loop, a condition or a function, which is "
                             "not followed: give the launch (--launch 'accelerate launch ...')");
    return MS_OK;
}

/* ---- texts and scripts ---- */

static ms_status read_text(ms_launch *l, uint32_t depth);

static ms_status open_script(ms_launch *l, const char *path)
{
    free(l->text);
    l->shell.at = l->shell.words.count = l->shell.blocks.count = l->shell.heredoc_count = 0;
    l->beside = path;
    return ms_json_read(ms_arena_inputs(l->arena), path, &l->shell.source, &l->text, l->err);
}

/* "bash train.sh 8": the script, with its arguments. */
static ms_status follow(ms_launch *l, const choice *c, uint32_t depth)
{
    enum { MOST = 4 };
    bool is_one = true;
    uint32_t at = 0, first;
    ms_status status = MS_OK;
    for (; at < c->count && is_one && status == MS_OK; at += is_one)
        status = ms_shell_assign(&l->shell, &c->words[at], false, &is_one);
    while (at < c->count && (strstr(c->words[at].text, ".sh") == NULL))
        at++;
    if (status != MS_OK || at == c->count || depth == MOST)
        return status != MS_OK ? status
                               : ms_shell_fail(&l->shell, c->line, MS_ERR_CONFIG,
                                               "this script is not followed");
    first = at + 1;
    for (uint32_t i = first; i < c->count && status == MS_OK; i++) {
        const char *name = ms_arena_printf(l->arena, "%u", (unsigned)(i - at));
        status = name ? ms_shell_set(&l->shell, name, &c->words[i], 1, false) : fail_memory(l);
    }
    if (status == MS_OK)
        status = ms_shell_set(&l->shell, "@", c->words + first, c->count - first, true);
    const char *path = c->words[at].text;
    if (!ms_is_there(path) && l->beside)
        path = ms_path_beside(l->arena, l->beside, path);
    if (status == MS_OK)
        status = path ? open_script(l, path) : fail_memory(l);
    return status == MS_OK ? read_text(l, depth + 1) : status;
}

static ms_status read_text(ms_launch *l, uint32_t depth)
{
    choice c = {.l = l};
    uint32_t at = 0;
    ms_status status = ms_shell_read(&l->shell, consider, &c);
    if (status == MS_OK)
        status = choose(&c);
    if (status != MS_OK)
        return status;
    if (c.class == MS_LAUNCH_SCRIPT)
        return follow(l, &c, depth);
    l->words = c.words;
    l->count = c.count;
    status = ms_launch_take_launchers(l, &at);
    return status == MS_OK ? ms_launch_take_program(l, at) : status;
}

ms_status ms_launch_read(ms_arena *arena, const char *text, const char *run_path, ms_launch *l,
                         ms_notes *notes, ms_error *err)
{
    *l = (ms_launch){.arena = arena, .notes = notes, .err = err, .beside = run_path};
    l->shell = (ms_shell){.arena = arena, .err = err};
    if (*text == '@') {
        const char *path = run_path ? ms_path_beside(arena, run_path, text + 1) : text + 1;
        ms_status status = path ? open_script(l, path) : fail_memory(l);
        return status == MS_OK ? read_text(l, 0) : status;
    }
    l->shell.source = (ms_json_source){"the command line", text, strlen(text)};
    return read_text(l, 0);
}

void ms_launch_end(ms_launch *l)
{
    ms_shell_end(&l->shell);
    ms_vec_free(&l->launcher);
    ms_vec_free(&l->trainer);
    ms_vec_free(&l->values);
    free(l->text);
    l->text = NULL;
}
