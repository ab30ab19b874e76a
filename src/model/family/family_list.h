/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The families, one row each, in the order of `memscope models`. Each is a table `ms_family_NAME`
 * in its own file, or in that of related families.
 */
#ifndef MS_MODEL_FAMILY_FAMILY_LIST_H
#define MS_MODEL_FAMILY_FAMILY_LIST_H

#include "input/config/model/family_facts.h"
#include "input/config/model/family.h"

/* clang-format off */
#define MS_FAMILY_LIST(X) X(gemma4)
/* clang-format on */

#define MS_FAMILY_DECLARE(name) extern const ms_family ms_family_##name;
MS_FAMILY_LIST(MS_FAMILY_DECLARE)

#endif
