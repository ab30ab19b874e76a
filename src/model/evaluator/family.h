/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Families whose keys, modules and calls are a text: those of families/, and the user's own.
 */
#ifndef MS_MODEL_EVALUATOR_FAMILY_H
#define MS_MODEL_EVALUATOR_FAMILY_H

#include "model/evaluator/program.h"

/* A row with what its text has: ms_family_list's `read`. The row itself if it has no text; NULL
 * after a failure. */
const ms_family *ms_family_read_text(ms_arena *arena, const ms_family *row, ms_error *err);

/* Reads a user's file into the arena. */
ms_status ms_family_file_read(ms_arena *arena, const char *path, ms_family_file *file,
                              ms_error *err);

/* A family of a text with that name in messages. What the text does not say (what is predicted for
 * it, what other programs know of it) is as for the family that it imports first, a row of
 * `known`. NULL after a failure. `folder`: where else imported texts are; NULL: nowhere. */
const ms_family *ms_family_of_text(ms_arena *arena, const ms_family_file *file, const char *folder,
                                   const ms_family_list *known, ms_error *err);

/* Members of such a family. */
ms_status ms_family_text_check(const ms_model_config *config, ms_error *err);
/* What such a family's row derives; of an encoder with a decoder, the layers of both. */
ms_status ms_family_text_derive(ms_model_config *config, ms_error *err);
uint8_t ms_family_text_kind(const ms_model_config *config, uint64_t layer);

#endif
