/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The keys and values of the tokens that a decoder has seen, layer by layer. As transformers'
 * DynamicCache keeps them, each pass appends its own by concatenation, and a layer that slides
 * keeps a view of those within its window. As EncoderDecoderCache keeps them, a layer also has the
 * keys and values of the encoder's result, which are made once. As StaticCache keeps them, a layer
 * has room for all tokens, or for its window, from its first pass on, and attention sees the room.
 */
#ifndef MS_MODEL_BLOCKS_CACHE_H
#define MS_MODEL_BLOCKS_CACHE_H

#include "model/blocks/model.h"

typedef enum ms_cache_kind { MS_CACHE_PLAIN, MS_CACHE_QUANTO, MS_CACHE_FP8 } ms_cache_kind;

/* How a cache packs its keys and values. */
typedef struct ms_cache_packing {
    ms_cache_kind kind;
    uint64_t bits, group; /* of quanto: of a number; numbers that share a scale */
    uint64_t residual;    /* of quanto: as many tokens are packed at a time */
} ms_cache_packing;

/* Keys or values that are packed. */
typedef struct ms_packed_states {
    ms_tensor
        tensors[3]; /* held: quanto's scales, shifts and numbers; the numbers and scale of fp8 */
    uint64_t tokens;
} ms_packed_states;

typedef struct ms_cached_layer {
    ms_packed_states packed[2]; /* of a packed cache; `keys` and `values` are then the others */
    ms_tensor keys, values;     /* [B, Hk, kept tokens, D], held; 0: no token was seen */
    ms_tensor cross[2];         /* keys and values of an encoder's result, held; 0: none yet */
    ms_tensor number; /* int64 on the device: the window of a dynamic layer that slides; how
                         many tokens a static one has */
    uint64_t seen;    /* tokens, also those that the window has left behind */
} ms_cached_layer;

struct ms_cache {
    ms_cache_packing packing;
    uint64_t room;           /* tokens that a static cache has room for; 0: it is dynamic */
    ms_cached_layer *layers; /* of every layer of the model */
};

/* An empty cache for a model that was built: its memory is the model's, but ms_cache_clear lets go
 * of its tensors. MS_ERR_CONFIG when the family's attention takes no cache, or none with room for
 * so many tokens (0: a dynamic one), or cannot be packed so (NULL: it is not); MS_ERR_NOMEM. */
ms_status ms_cache_new(const ms_model *model, uint64_t room, const ms_cache_packing *packing,
                       ms_cache **cache, ms_error *err);
void ms_cache_clear(const ms_model *model, ms_cache *cache);

/* Whether the family's attention takes a cache, of a decoder alone or behind an encoder. */
bool ms_cache_is_known(const ms_model_config *config);
/* The first layer with a cache: the decoder's first behind an encoder. */
uint64_t ms_cache_first(const ms_model *model);

/* So many single tokens come and are not run. */
void ms_cache_skip(const ms_model *model, ms_cache *cache, uint64_t tokens);

/* How many keys the layer's attention sees in the pass that runs: those in the cache that its
 * window reaches, and the pass's own. Without a cache the latter alone. */
ms_dim ms_cache_keys(const ms_model *model, uint64_t layer);
/* Tokens that were seen before the pass that runs, and those of the pass. */
ms_dim ms_cache_seen(const ms_model *model);
/* Whether causality alone gives the mask: all keys are those of the pass, or come after them. */
bool ms_cache_is_plain(const ms_model *model, uint64_t layer);
/* Appends the pass's keys and values, locals of `f`, to the layer's; the locals then hold all that
 * attention sees. Without a cache nothing happens. */
void ms_cache_append(ms_model *model, ms_locals *f, uint64_t layer, ms_tensor *key,
                     ms_tensor *value);
/* Whether the layer has the keys and values of the encoder's result already; if so, binds them to
 * the locals of `f`. */
bool ms_cache_has_cross(ms_model *model, ms_locals *f, uint64_t layer, ms_tensor *key,
                        ms_tensor *value);
/* Keeps copies of those keys and values, which the locals then hold. Without a cache nothing
 * happens. */
void ms_cache_keep_cross(ms_model *model, ms_locals *f, uint64_t layer, ms_tensor *key,
                         ms_tensor *value);

#endif
