/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The modules of a captured program, with those of equal layers merged.
 */
#ifndef MS_INPUT_DOCUMENT_RECORDED_GROUPS_H
#define MS_INPUT_DOCUMENT_RECORDED_GROUPS_H

#include "input/document/recorded.h"

/* Fills the groups from the report's modules. */
ms_status ms_recorded_read_groups(ms_recorded *r, ms_json_value root, ms_error *err);

#endif
