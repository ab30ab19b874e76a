/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of a run's options, and a run while its options are set.
 */
#ifndef MS_INPUT_CONFIG_RUN_RUN_FIELDS_H
#define MS_INPUT_CONFIG_RUN_RUN_FIELDS_H

#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "input/config/fields/field.h"
#include "input/config/run/run_config.h"
#include "input/config/run/run_field_list.h"

enum {
    MS_RUN_FIELD_COUNT = 0
#define MS_ONE_MORE(...) +1
    MS_RUN_FIELD_LIST(MS_ONE_MORE)
#undef MS_ONE_MORE
};

/* The options that were set; ms_run_resolve fills in the rest. */
typedef struct ms_run_draft {
    ms_run_config run;          /* first member; 0 where nothing is set */
    const char *assume;         /* --assume; NULL: nothing */
    const char *assume_version; /* --assume-version; NULL: none */
    const char *family;         /* --family; NULL: none */
    const char *families;       /* --families; NULL: none */
    const char *config, *adapter, *lora, *plan, *training_args, *launch, *device, *calibration,
        *prices;
    ms_dtype adapter_dtype;
    bool ignore_sharding;
    bool is_moved;  /* by the trainer whose file it is, a model that was built on the host */
    bool is_loaded; /* by it, with device_map, where there are no other ranks */
    bool is_mapped; /* the same, on each rank that holds everything */
    bool is_launched_apart;   /* a launcher has a file beside the trainer's */
    bool has_allocator_conf;  /* the launch alone says what the allocator is */
    bool has_zero3;           /* a file shards by ZeRO-3 */
    bool has_doubtful_layout; /* what decides the layout of ranks is refused */
    bool has_end_units;       /* a file's FSDP2 makes units of the ends of a model */
    bool has_plain_units;     /* which are not predicted for it: layers alone stand for them */
    bool shards_instead;      /* ZeRO-3 is not predicted for it: FSDP2 stands for it */
    bool is_inference;        /* nothing is trained */
    bool reshards;            /* --reshard-after-forward */
    bool reshards_after_backward;
    uint64_t world;                        /* --world; 0: not given */
    bool keeps_orig_params;                /* --use-orig-params */
    double engine_share;                   /* of the device, held by what generates beside */
    double mfu;                            /* 0: not given */
    uint64_t network;                      /* bytes a second between hosts; 0: not given */
    const struct ms_calibration *measured; /* content of the calibration file; NULL: none */
    const struct ms_prices *known_prices;  /* content of the file of prices; NULL: none */
    uint64_t is_set[MS_CONFIG_WORDS(MS_RUN_FIELD_COUNT)];
} ms_run_draft;

extern const ms_config_table ms_run_table;

/* The index of the row of that name, ignoring case and treating `_` as `-`. -1 when unknown. */
int ms_run_field_find(const char *name);
const char *ms_run_field_name(size_t index); /* NULL past the last */
/* The kind of that row's values. */
const ms_config_kind *ms_run_field_kind(size_t index);

bool ms_run_field_is_set(const ms_run_draft *draft, const char *name);
void ms_run_field_unset(ms_run_draft *draft, const char *name);
/* Whether `--lora` was given with a value other than "none". */
static inline bool ms_run_has_lora(const ms_run_draft *draft)
{
    return ms_run_field_is_set(draft, "lora") && strcmp(draft->lora, "none") != 0;
}

/* "; did you mean 'batch'?" for a misspelt name, ": " and the reason for an unsupported setting, or
 * "". */
const char *ms_run_field_hint(const char *name, char out[MS_CONFIG_HINT_BYTES]);

/* Refuses an unknown field, suggesting the nearest name, and an invalid value. Text is copied into
 * the arena. */
ms_status ms_run_field_set(ms_run_draft *draft, ms_arena *arena, const char *name,
                           const char *value, ms_error *err);

/* A resolved run, for reports. */
typedef struct ms_run_seen {
    const ms_model_config *model;
    const ms_run_config *run;
    ms_attention attention; /* the back end that the run uses */
} ms_run_seen;

/* Shows the option of a row and returns its name in reports: among the options, or among the
 * machine-readable details. NULL: the report omits it. Texts belong to the arena; a NULL text: out
 * of memory. */
const char *ms_run_field_report(size_t index, const ms_run_seen *seen, ms_arena *arena,
                                ms_config_shown *shown);
const char *ms_run_field_detail(size_t index, const ms_run_seen *seen, ms_arena *arena,
                                ms_config_shown *shown);

/* ---- run words ---- */

/* What trainers and engines call settings that are fields here under another name. */

/* Row by row; NULL past the last. A word with two rows means the first whose field there is. */
const ms_run_word *ms_run_words_row(size_t index);

#endif
