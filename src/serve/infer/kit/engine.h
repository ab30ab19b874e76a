/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An engine is a row: its name, the phases that it has, its settings, and a function that lists
 * what it needs for a job. The rows are in serve/infer/engines.c.
 */
#ifndef MS_SERVE_INFER_KIT_ENGINE_H
#define MS_SERVE_INFER_KIT_ENGINE_H

#include "core/device/device.h"
#include "serve/infer/kit/choice.h"
#include "serve/infer/kit/result.h"
#include "serve/infer/kit/settings.h"
#include "serve/infer/kit/work.h"
#include "base/json/value.h"
#include "input/weights/gguf.h"

typedef struct ms_model_config ms_model_config;

struct ms_inventory; /* serve/infer/files/inventory.h */

/* What is asked of an engine. Of the model there is a GGUF file, or a config.json. */
typedef struct ms_infer_job {
    const ms_infer_settings *settings;
    const ms_device *device;
    uint64_t budget_bytes;                /* of each device; 0: unknown */
    const char *name;                     /* of the model, for titles */
    const ms_gguf *gguf;                  /* or NULL */
    uint32_t splits;                      /* files of it */
    const ms_model_config *config;        /* or NULL */
    ms_json_value file;                   /* the config as it was read; valid if `config` is */
    const struct ms_inventory *inventory; /* of it; NULL: it is not made yet */
    bool is_trial;  /* asked whether it fits: what takes long may be coarser */
    bool only_fits; /* and for nothing else: what is too large already needs no more buffers */
    ms_arena *arena;
} ms_infer_job;

/* Of which models an engine is predicted. */
typedef enum ms_infer_takes {
    MS_INFER_TAKES_NONE,
    MS_INFER_TAKES_GGUF, /* of their GGUF files alone */
    MS_INFER_TAKES_CONFIG
} ms_infer_takes;

enum { MS_INFER_MOST_QUANTS = 16 };

typedef struct ms_infer_engine {
    const char *name;        /* "llama.cpp" */
    const char *const *also; /* other names of it, ended by NULL; or NULL */
    const char *about;       /* its version, as far as figures depend on it */
    unsigned phases;         /* MS_INFER_IN(...) */
    int scope;               /* its settings: MS_INFER_OF_... */
    /* The values of `quant` for the model, at most MS_INFER_MOST_QUANTS, from the largest file to
     * the smallest. NULL: it takes none. */
    ms_status (*quants)(const ms_infer_job *job, const char **names, size_t *count, ms_error *err);
    const char *loading; /* why weights take other bytes than their types say; NULL: converted */
    uint64_t most_sequences; /* that it takes at a time; 0: any number */
    bool is_slow;            /* a run takes up to a second: few are tried beyond need */
    bool reads_inventory;    /* of a config: rows share one */
    /* Whether models of the config's family and class are predicted; `run` may refuse others of
     * their settings. */
    ms_infer_takes (*takes)(const ms_model_config *config);
    /* Fills an empty result; frees nothing after a failure. */
    ms_status (*run)(const ms_infer_job *job, ms_infer_result *result, ms_error *err);
    /* Sets in `settings`, those of the job, what the engine chooses itself where that is asked for,
     * and fills an empty `choice`. NULL: it chooses nothing. */
    ms_status (*choose)(const ms_infer_job *job, ms_infer_settings *settings,
                        ms_infer_choice *choice, ms_error *err);
    /* Fills an empty `work` for the job of a result. */
    ms_status (*work)(const ms_infer_job *job, const ms_infer_result *result, ms_infer_work *work,
                      ms_error *err);
} ms_infer_engine;

#endif
