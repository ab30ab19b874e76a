/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of keys that memscope knows, and the members of ms_model_config that hold their values;
 * other keys are a text's own.
 */
#ifndef MS_MODEL_EVALUATOR_KNOWN_NAMES_H
#define MS_MODEL_EVALUATOR_KNOWN_NAMES_H

#include "input/config/model/model_config.h"
#include "model/evaluator/program.h"

/* Bounds that keep every product of three dimensions within 64 bits. */
#define MAX_VOCAB (1u << 24)
#define MAX_HIDDEN (1u << 18)
#define MAX_INTERMEDIATE (1u << 20)
#define MAX_LAYERS 4096
#define MAX_HEADS 4096
#define MAX_HEAD_DIM (1u << 14)
#define MAX_POSITIONS (1u << 24)
#define MAX_EXPERTS 4096

#define MEMBER(m) offsetof(ms_model_config, m)

typedef enum ms_member_type {
    MS_OF_COUNTS,
    MS_OF_TRUTHS,
    MS_OF_FRACTIONS,
    MS_OF_ACTIVATIONS,
    MS_OF_INTEGERS
} ms_member_type;

typedef struct ms_known_name {
    const char *name;
    size_t offset;
    ms_member_type type;
    uint64_t most; /* of a count */
    ms_family_dim dim;
    const char *symbol; /* in formulas; NULL: the name */
} ms_known_name;

/* A name among the keys of an object such as "vision_config", or of the others (NULL); NULL: it is
 * not known. */
const ms_known_name *ms_known_name_find(const char *object, const char *name);

#endif
