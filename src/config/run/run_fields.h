/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of a run's options, and a run as far as it was set.
 */
#ifndef MS_CONFIG_RUN_RUN_FIELDS_H
#define MS_CONFIG_RUN_RUN_FIELDS_H

#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "config/fields/field.h"
#include "config/run/run_config.h"
#include "config/run/run_field_list.h"

enum {
    MS_RUN_FIELD_COUNT = 0
#define MS_ONE_MORE(...) +1
    MS_RUN_FIELD_LIST(MS_ONE_MORE)
#undef MS_ONE_MORE
};

/* The run as far as it was set; the rest is filled in by ms_run_resolve. */
typedef struct ms_run_draft {
    ms_run_config run; /* comes first; 0 where nothing was set */
    const char *config, *adapter, *lora, *plan, *training_args, *device, *calibration;
    ms_dtype adapter_dtype;
    bool ignore_sharding;
    const struct ms_calibration *measured; /* what is in that file; NULL: none */
    uint64_t is_set[MS_CONFIG_WORDS(MS_RUN_FIELD_COUNT)];
} ms_run_draft;

extern const ms_config_table ms_run_table;

/* The index of the row of that name; case and `_` for `-` are forgiven. -1 when unknown. */
int ms_run_field_find(const char *name);
const char *ms_run_field_name(size_t index); /* NULL past the last */
/* What the values of that row are like. */
const ms_config_kind *ms_run_field_kind(size_t index);

bool ms_run_field_is_set(const ms_run_draft *draft, const char *name);
void ms_run_field_unset(ms_run_draft *draft, const char *name);
/* Whether a text of an adapter was given; "none" is none. */
static inline bool ms_run_has_lora(const ms_run_draft *draft)
{
    return ms_run_field_is_set(draft, "lora") && strcmp(draft->lora, "none") != 0;
}

/* "; did you mean 'batch'?" for a misspelt name, ": " and why for a setting that is not modelled,
 * or "". */
const char *ms_run_field_hint(const char *name, char out[MS_CONFIG_HINT_BYTES]);

/* Refuses an unknown field with the nearest known spelling, and a value its field does not take.
 * Text that is kept is copied into the arena. */
ms_status ms_run_field_set(ms_run_draft *draft, ms_arena *arena, const char *name,
                           const char *value, ms_error *err);

/* A resolved run, as reports show it. */
typedef struct ms_run_seen {
    const ms_model_config *model;
    const ms_run_config *run;
    ms_attention attention; /* that the run got */
} ms_run_seen;

/* What a report says of the option in that row, and its name there: among the options, or among
 * what is for programs. NULL: it says nothing. Texts belong to the arena; NULL in one: out of
 * memory. */
const char *ms_run_field_report(size_t index, const ms_run_seen *seen, ms_arena *arena,
                                ms_config_shown *shown);
const char *ms_run_field_detail(size_t index, const ms_run_seen *seen, ms_arena *arena,
                                ms_config_shown *shown);

#endif
