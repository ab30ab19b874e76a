/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_MODEL_FAMILIES_H
#define MS_MODEL_FAMILIES_H

#include "input/config/model/family.h"

/* All families. */
const ms_family_list *ms_families(void);

#endif
