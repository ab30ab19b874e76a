/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The fields of a sweep: one row each in settings.c, read by the command line and the help texts.
 */
#ifndef MS_SWEEP_SETTINGS_H
#define MS_SWEEP_SETTINGS_H

#include <stdbool.h>

#include "base/arena.h"
#include "memscope/memscope.h"
#include "largest/fit.h"
#include "sweep/row.h"

typedef struct ms_sweep_settings {
    const char *runs; /* a CSV file, or NULL */
    const ms_fit_what *fit;
    uint64_t step;          /* of the values of `fit`; 0: the usual one */
    uint64_t shard, shards; /* this one, from 0, of how many */
    uint64_t jobs;          /* 0: as many as the process may use */
    ms_row_format format;
    const char *objectives;
    bool frontier;
} ms_sweep_settings;

extern const ms_sweep_settings ms_sweep_defaults;

const ms_run_field *ms_sweep_settings_fields(size_t *count);

/* Refuses an unknown field, and a value its field does not take. Text is copied into the arena. */
ms_status ms_sweep_settings_set(ms_sweep_settings *settings, ms_arena *arena, const char *field,
                                const char *value, ms_error *err);
/* Refuses settings that do not go together. */
ms_status ms_sweep_settings_check(const ms_sweep_settings *settings, ms_error *err);

#endif
