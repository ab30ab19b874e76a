/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Models by the names that they have on the Hugging Face Hub: those whose configs are built in,
 * under that name or under a sister's.
 */
#ifndef MS_INPUT_CONFIG_NAMES_HUB_H
#define MS_INPUT_CONFIG_NAMES_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct ms_hub_model {
    const char *preset; /* the built-in config with the same sizes */
    const char *title;  /* of the model: the id without its owner, `title_bytes` long */
    size_t title_bytes;
    uint32_t positions; /* its max_position_embeddings, if not the preset's; else 0 */
    const char *stored; /* its torch_dtype, if not the preset's; else NULL */
} ms_hub_model;

/* By "owner/name", or by the name alone; ignores case. */
bool ms_hub_find(const char *id, ms_hub_model *model);
/* By the parts of a name (input/config/names/model_name.h), without an owner or with one who copies
 * models as they are. False also where models of several sizes have them. */
bool ms_hub_find_by_parts(const char *name, ms_hub_model *model);
/* Whether an id's owner has models that are known: under another name it is another model. */
bool ms_hub_is_author(const char *id);
/* Whether an id is of one who converts models of that family to another layout: no preset is it. */
bool ms_hub_is_converted(const char *name);

/* The name of the model of a config in the cache of huggingface_hub, in the arena; NULL: it is not
 * there, or out of memory. */
const char *ms_hub_title_of_path(ms_arena *arena, const char *path);

/* Whether `text` may be such an id: two parts of letters, digits, "-", "_" and ".". */
bool ms_hub_is_id(const char *text);
/* "owner/name" in an address of the Hub ("https://huggingface.co/owner/name/tree/main"), in the
 * arena; NULL: it is no such address, or out of memory. */
const char *ms_hub_id_of_address(ms_arena *arena, const char *text);

#endif
