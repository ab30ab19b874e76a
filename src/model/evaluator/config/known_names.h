/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names of keys that memscope knows, and the members of ms_model_config that hold their values;
 * other keys are a text's own.
 */
#ifndef MS_MODEL_EVALUATOR_KNOWN_NAMES_H
#define MS_MODEL_EVALUATOR_KNOWN_NAMES_H

#include "model/evaluator/program.h"

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

/* A name of the text model's keys, or of class vision_config; NULL: it is not known. */
const ms_known_name *ms_known_name_find(const char *name, bool of_tower);

#endif
