/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The keys of an adapter, for its two readers: JSON (adapter.c) and text (adapter_parse.c).
 */
#ifndef MS_INPUT_CONFIG_ADAPTER_ADAPTER_KEYS_H
#define MS_INPUT_CONFIG_ADAPTER_ADAPTER_KEYS_H

#include "input/config/adapter/adapter.h"

typedef enum ms_adapter_key_kind {
    MS_ADAPTER_KEY_COUNT,    /* uint64_t, 1 to MS_ADAPTER_MOST_RANK */
    MS_ADAPTER_KEY_FLAG,     /* bool; in text only the word */
    MS_ADAPTER_KEY_FRACTION, /* double, 0 <= x < 1 */
    MS_ADAPTER_KEY_TARGETS,  /* a list of modules, a pattern, "all-linear", or null: the family's
                                defaults */
    MS_ADAPTER_KEY_MODULES,  /* a list of modules, or a pattern */
    MS_ADAPTER_KEY_NAMES,    /* a list of modules, or one */
    MS_ADAPTER_KEY_PATTERNS, /* the same, of patterns */
    MS_ADAPTER_KEY_LAYERS,   /* layer numbers, or one */
    MS_ADAPTER_KEY_RANKS,    /* patterns of names with their ranks */
    MS_ADAPTER_KEY_BIAS,
    MS_ADAPTER_KEY_IGNORED, /* no effect on memory */
    MS_ADAPTER_KEY_REFUSED  /* unsupported when it is present and neither null, false nor empty */
} ms_adapter_key_kind;

enum { MS_ADAPTER_MOST_RANK = 1 << 16, MS_ADAPTER_MOST_NAMES = 1024 };

typedef struct ms_adapter_key {
    const char *name, *short_name; /* in the file, in text; NULL: not in text */
    ms_adapter_key_kind kind;
    size_t offset;
    bool lora, ia3; /* the kinds that have the key */
} ms_adapter_key;

/* Ends with a row whose name is NULL. */
extern const ms_adapter_key ms_adapter_keys[];
extern const char *const ms_adapter_biases[]; /* by ms_adapter_bias, ending in NULL */
#define MS_ADAPTER_ALL_LINEAR "all-linear"
enum { MS_ADAPTER_DEFAULT_RANK = 8 }; /* PEFT's */

static inline void *ms_adapter_member(ms_adapter *adapter, const ms_adapter_key *key)
{
    return (char *)adapter + key->offset;
}

#endif
