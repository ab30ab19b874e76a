/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How the keys of a run's files were read: what each set, what is harmless, and what is not
 * predicted, which decides whether the verdict can be known.
 */
#ifndef MS_INPUT_CONFIG_KEYS_READ_KEYS_H
#define MS_INPUT_CONFIG_KEYS_READ_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/reason.h"

struct ms_model_config;
struct ms_run_config;

typedef enum ms_key_reading {
    MS_KEY_USED,          /* it sets something of the run */
    MS_KEY_DEFAULT,       /* it could matter, but not with this value */
    MS_KEY_HARMLESS,      /* it does not change the memory of a step */
    MS_KEY_ASSUMED,       /* harmless because the user says so */
    MS_KEY_NOT_PREDICTED, /* it changes memory, and the figures are without it */
    MS_KEY_UNKNOWN,       /* in no table: it may change memory */
    MS_KEY_READING_COUNT
} ms_key_reading;

/* What a key that is not predicted does to the memory of a step. */
typedef enum ms_key_effect {
    MS_EFFECT_NONE,
    MS_EFFECT_ADDS,   /* it can only take more than the figures say */
    MS_EFFECT_SAVES,  /* it can only take less */
    MS_EFFECT_EITHER, /* either, or it is not known */
    MS_EFFECT_COUNT
} ms_key_effect;

/* "used", "not-predicted": by ms_key_reading. "none", "adds": by ms_key_effect. Each list ends with
 * NULL. */
extern const char *const ms_key_reading_names[];
extern const char *const ms_key_effect_names[];
/* "which adds memory": by ms_key_effect; "" for MS_EFFECT_NONE. */
extern const char *const ms_key_effect_texts[];

/* Texts are in the run's arena. */
typedef struct ms_read_key {
    const char *file;    /* as given: "train.yaml" */
    uint32_t line;       /* from 1 */
    const char *key;     /* "optimizer/lr": its path in the file */
    const char *value;   /* its text in the file, cut where it is long */
    const char *meaning; /* what it set, what it is about, or what is not predicted; may be "" */
    ms_key_reading reading;
    ms_key_effect effect;
    /* Of what adds: the most that it adds, in bytes; NULL: it is not known. */
    uint64_t (*bound)(const struct ms_model_config *model, const struct ms_run_config *run);
    uint64_t most_bytes; /* from `bound`, once the run is resolved */
    /* Fields of the run and their values, with which the figures are those of the other end of what
     * the key may come to, and NULL at the end; NULL: none is known. */
    const char *const *other_end;
} ms_read_key;

typedef struct ms_read_keys {
    ms_read_key *items;
    uint32_t count, capacity;
    bool compares; /* figures are compared: what only adds a bounded size counts, nothing else */
    const char *versions; /* of the frameworks: "transformers 5.24, accelerate 1.15"; NULL: none */
} ms_read_keys;

/* Appends a copy; its texts must be in the arena already. Fails when memory is short. */
ms_status ms_read_keys_add(ms_read_keys *keys, ms_arena *arena, ms_read_key key, ms_error *err);
/* The reading of a key by its file and path; NULL: there is none. */
ms_read_key *ms_read_keys_find(const ms_read_keys *keys, const char *file, const char *key);
/* Whether the figures are without this key. */
bool ms_key_is_left_out(const ms_read_key *key);
/* The same, and by how much they change is not known. */
bool ms_key_is_open(const ms_read_key *key);
/* Fills what each of them adds at most. */
void ms_read_keys_bound(ms_read_keys *keys, const struct ms_model_config *model,
                        const struct ms_run_config *run);
/* What they add at most to such a run, together; UINT64_MAX stands for more. */
uint64_t ms_read_keys_most_bytes(const ms_read_keys *keys, const struct ms_model_config *model,
                                 const struct ms_run_config *run);

/* Fields and values of the run with which the figures are those of the other end of what the keys
 * that are left out may come to, and NULL at the end; the arena owns them. *settings is NULL where
 * no key has one. Fails when memory is short. */
ms_status ms_read_keys_other_end(const ms_read_keys *keys, ms_arena *arena,
                                 const char *const **settings, ms_error *err);
/* The names of those keys, as "checkpoints and tensor_parallel". NULL: out of memory. */
const char *ms_read_keys_with_other_end(const ms_read_keys *keys, ms_arena *arena);

/* The reason of a verdict about figures, by what is left out of them: what only adds cannot make a
 * step fit that does not, and what only saves cannot make one too large that fits. */
ms_fit_reason ms_reason_with_keys(ms_fit_reason reason, const ms_read_keys *keys);

#endif
