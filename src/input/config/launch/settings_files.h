/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The settings of a trainer that a run has: files, and the words of a launch, read as one.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_SETTINGS_FILES_H
#define MS_INPUT_CONFIG_LAUNCH_SETTINGS_FILES_H

#include "base/arena.h"
#include "base/json/value.h"
#include "input/config/model/notes.h"
#include "input/config/trainers/keys/allocator_conf.h"

enum { MS_SETTINGS_MOST_FILES = 16, MS_SETTINGS_MOST_PARTS = MS_SETTINGS_MOST_FILES + 3 };

/* Where the settings are. */
typedef struct ms_settings_places {
    const char *paths;        /* files, with a line break between two; NULL: none */
    const char *paths_beside; /* the run file that names them; NULL: they are as they are */
    const char *launch;       /* a launch, as launch.h has it; NULL: none */
    const char *launch_beside;
} ms_settings_places;

typedef struct ms_settings_files {
    uint32_t count, file_count; /* files first, then words of the launch */
    uint32_t named; /* the place, from 1, of the one that `accelerate_config` names; 0: none */
    ms_json *documents[MS_SETTINGS_MOST_PARTS];
    char *texts[MS_SETTINGS_MOST_PARTS];
    bool is_launcher[MS_SETTINGS_MOST_PARTS]; /* of words */
    bool is_deep, is_recipe;                  /* as of ms_launch */
    uint64_t processes;                       /* that the launch starts; 0: it does not say */
    uint64_t world;  /* the same, where the trainer's files have no place for it; else 0 */
    ms_json *merged; /* NULL: there is one file */
    ms_allocator_conf allocator;
    bool by_axolotl, is_module; /* the launch is axolotl's command; as of ms_launch */
    bool is_whole;              /* all of them are open, but the one that is named */
    bool has_trainer_too;       /* a launcher, and settings of the trainer that it launches */
} ms_settings_files;

/* Opens what the places name. A file is one of accelerate, of DeepSpeed or of a trainer by its own
 * keys (see join_settings.h). `notes` may be NULL. Close the files also after a failure, after
 * which ms_settings_files_are_there tells whether they may be looked at for further ones. */
ms_status ms_settings_files_open(ms_arena *arena, const ms_settings_places *places,
                                 ms_settings_files *files, ms_notes *notes, ms_error *err);
bool ms_settings_files_are_there(const ms_settings_files *files, ms_status status);
void ms_settings_files_close(ms_settings_files *files);

/* All of them, as one object. */
ms_json_value ms_settings_files_root(const ms_settings_files *files);

#endif
