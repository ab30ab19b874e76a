/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Families of the user's own: files, and a folder of such.
 */
#ifndef MS_MODEL_EVALUATOR_USER_FAMILIES_H
#define MS_MODEL_EVALUATOR_USER_FAMILIES_H

#include "input/config/model/family.h"

/* ms_family_list's `find`, `with` and `in`. A folder's files have the name of the model type, with
 * ".family" behind it. */
const ms_family *ms_family_of_user(ms_arena *arena, const ms_family_list *list,
                                   const char *model_type, ms_error *err);
const ms_family_list *ms_families_with(ms_arena *arena, const ms_family_list *list,
                                       const char *path, ms_error *err);
const ms_family_list *ms_families_in(ms_arena *arena, const ms_family_list *list,
                                     const char *folder, ms_error *err);

#endif
