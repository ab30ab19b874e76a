/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A shell's text while it is read: the place, variables, the words so far.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_SHELL_SHELL_STATE_H
#define MS_INPUT_CONFIG_LAUNCH_SHELL_SHELL_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "base/json/scan.h"

enum {
    MS_SHELL_MAX_BYTES = 1 << 20, /* of a text, and of all that it expands to */
    MS_SHELL_MAX_WORDS = 1 << 12, /* of a command or a list */
    MS_SHELL_MAX_VARIABLES = 1 << 10,
    MS_SHELL_MAX_NESTING = 16
};

/* In the text of a word whose text is not known, while variables have it. */
#define MS_SHELL_UNKNOWN '\1'

typedef struct ms_shell_word {
    const char *text;
    uint32_t line;       /* from 1 */
    const char *unknown; /* why its text is not what the shell makes of it: a sentence; or NULL */
} ms_shell_word;

typedef ms_vec(ms_shell_word) ms_shell_words;

typedef struct ms_shell_variable {
    const char *name;
    ms_shell_word *items; /* one, or those of a list */
    uint32_t count;
    bool is_list, is_exported; /* exported: what is launched has it in its environment */
    bool is_integer;           /* `declare -i`: what it is assigned is computed */
} ms_shell_variable;

typedef struct ms_shell {
    ms_arena *arena;
    ms_json_source source;
    ms_vec(ms_shell_variable) variables;
    ms_shell_words words; /* of the command that is read */
    ms_vec(char) text;    /* of the word that is read */
    size_t at, expanded;
    uint32_t line;
    const char *unknown;     /* of the word that is read */
    ms_vec(char) blocks;     /* open ones: '(' and 'b' */
    uint32_t depth;          /* of texts that others run */
    const char *heredocs[4]; /* ends of texts that follow this line */
    uint32_t heredoc_count;
    bool is_tested;   /* the commands that "&&" joins may fail */
    bool is_optional; /* the command that is read runs if one before it fails, or does not */
    ms_error *err;
} ms_shell;

void ms_shell_end(ms_shell *shell);

/* NULL: it is not assigned. */
const ms_shell_variable *ms_shell_find(const ms_shell *shell, const char *name);
/* Puts the variable that a word names, or assigns to, into the environment of what is launched. */
void ms_shell_export(ms_shell *shell, const char *word);
ms_status ms_shell_set(ms_shell *shell, const char *name, const ms_shell_word *items,
                       uint32_t count, bool is_list);

/* Fails at a line of the text. */
__attribute__((format(printf, 4, 5))) ms_status
ms_shell_fail(const ms_shell *shell, uint32_t line, ms_status status, const char *format, ...);

/* NUL behind the end. */
char ms_shell_peek(const ms_shell *shell);
/* Blanks, and line breaks behind a backslash. */
void ms_shell_skip_blanks(ms_shell *shell);
/* Up to the line break. */
void ms_shell_skip_line(ms_shell *shell);

#endif
