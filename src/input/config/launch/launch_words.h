/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A launch while its words are read: the settings and files that they are.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_LAUNCH_WORDS_H
#define MS_INPUT_CONFIG_LAUNCH_LAUNCH_WORDS_H

#include "base/json/value.h"
#include "input/config/launch/shell/shell_state.h"
#include "input/config/model/notes.h"

enum { MS_LAUNCH_MOST_FILES = 8 };

/* A value: a word from an offset on. */
typedef struct ms_launch_value {
    uint32_t word, offset;
} ms_launch_value;

typedef struct ms_launch_setting {
    const char *key;       /* as files have it; with dots where it is inside of others */
    uint32_t word;         /* that has the key */
    uint32_t first, count; /* its values; none: `constant` */
    const char *constant;  /* "true", a word, or a number that several words come to */
    bool is_list;          /* also where there is one value */
    bool is_dotted;
} ms_launch_setting;

typedef ms_vec(ms_launch_setting) ms_launch_settings;

typedef struct ms_launch {
    ms_arena *arena;
    ms_notes *notes; /* or NULL */
    ms_error *err;
    ms_shell shell;
    char *text;                 /* of a script, to free; NULL: none */
    const ms_shell_word *words; /* of the launch */
    uint32_t count;
    ms_launch_settings launcher, trainer;
    ms_vec(ms_launch_value) values;
    const char *files[MS_LAUNCH_MOST_FILES]; /* in the order in which they are named */
    uint32_t file_count;
    const char *beside;  /* the script, or the run file, beside which its files may be */
    uint64_t processes;  /* 0: it does not say */
    bool is_uncounted;   /* the machine decides how many it starts */
    const char *command; /* that the launcher starts, without its folder: "trl"; NULL: none yet */
    const char *program; /* of one's own, whose settings may be inside: "train.py"; or NULL */
    bool is_deep;        /* values inside of others are replaced one by one: OmegaConf, axolotl */
    bool is_module; /* axolotl's trainer itself, without its command, which sets the allocator */
    bool is_recipe; /* of torchtune: its launcher's settings are defaults */
} ms_launch;

/* Adds a setting; the values are words from `first` on, the first one from an offset on. Values
 * that are not known are refused if the key matters. */
ms_status ms_launch_add(ms_launch *launch, ms_launch_settings *to, const char *key, uint32_t word,
                        const ms_launch_value *values, uint32_t count);
ms_status ms_launch_add_constant(ms_launch *launch, ms_launch_settings *to, const char *key,
                                 uint32_t word, const char *constant);
ms_status ms_launch_add_file(ms_launch *launch, ms_launch_value value);
/* The text of a value. */
const char *ms_launch_text(const ms_launch *launch, ms_launch_value value);
#define MS_LAUNCH_AT(l, at) &(l)->shell, (l)->words[at].line, MS_ERR_CONFIG
/* Fails at the line of a word. */
#define ms_launch_fail(l, at, ...) ms_shell_fail(MS_LAUNCH_AT(l, at), __VA_ARGS__)

/* An option of an argument parser at a word: "--lora-r=16". */
typedef struct ms_launch_option {
    char name[80]; /* "lora_r" */
    ms_launch_value value;
    bool has_value; /* behind "=" */
} ms_launch_option;

/* False: the word is no option. */
bool ms_launch_option_at(const ms_launch *launch, uint32_t at, ms_launch_option *option);

/* ---- launch class ---- */

/* Which command of a script is a launch. */

/* How sure it is that a command is a launch. */
typedef enum ms_launch_class {
    MS_LAUNCH_NONE,
    MS_LAUNCH_PYTHON,  /* a program of one's own */
    MS_LAUNCH_TRAINER, /* a launcher, or a trainer's command */
    MS_LAUNCH_SCRIPT   /* a shell script, which has one if nothing else here is one */
} ms_launch_class;
ms_launch_class ms_launch_class_of(const ms_shell_words *words);

/* What stands behind the last slash. */
const char *ms_launch_base_name(const char *path);
/* python, python3, python3.12 */
bool ms_launch_is_python(const char *word);
/* "env", "nohup" and others, behind which the command is. */
bool ms_launch_is_wrapper(const char *word);

/* ---- launch notes ---- */

/* Notes about how many processes and devices a launch has. */

/* Where only the machine decides how many processes the program has. */
ms_status ms_launch_note_uncounted(const ms_launch *l);
/* Where a process of ms-swift may see several devices. */
ms_status ms_launch_note_devices(const ms_launch *l);

#endif
