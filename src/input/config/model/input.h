/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finds and reads a config: a built-in model, a file, a directory or standard input.
 */
#ifndef MS_INPUT_CONFIG_MODEL_INPUT_H
#define MS_INPUT_CONFIG_MODEL_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json/scan.h"

/* The input that "config", or "model" in a run file, names. */
typedef struct ms_input {
    ms_json_source source;
    char *text;       /* to free; NULL for presets */
    const char *path; /* of the file; NULL for presets and standard input */
    const char *name; /* for titles; NULL: use the model type */
    const char *note; /* of the name, for those who read the report; NULL: none */
} ms_input;

/* What to look for in a directory: a run file before a model, or only a model. */
typedef enum ms_wanted { MS_WANTED_RUN, MS_WANTED_MODEL } ms_wanted;

ms_status ms_input_open(ms_arena *arena, const char *config, ms_wanted what, ms_input *in,
                        ms_error *err);

/* A built-in model, by its name, or by one that it or a sister has on the Hugging Face Hub. */
bool ms_is_preset(const char *name);
/* Or by such a name with an owner that is not known: what is opened has a note. */
bool ms_is_built_in(const char *name);

/* Whether something is at `path`; whether it is a regular file. */
bool ms_is_there(const char *path);
bool ms_is_regular_file(const char *path);

/* Resolves a path relative to a run file. A name that does not exist and does not look like a path
 * is returned unchanged, as a misspelt preset. NULL when out of memory. */
const char *ms_path_beside(ms_arena *arena, const char *run_path, const char *path);

#endif
