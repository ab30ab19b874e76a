/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The keys of a model's config that matter, as read or by default, under the names that its own
 * file has for them: what two configs are compared by.
 */
#ifndef MS_REPORT_VIEW_CONFIG_FIELDS_H
#define MS_REPORT_VIEW_CONFIG_FIELDS_H

#include "report/view/metadata.h"

/* Fills the list; items and texts belong to the arena. Keys in an object are
 * "text_config.hidden_size". False when out of memory. */
bool ms_config_fields(const ms_model_config *model, ms_arena *arena, ms_field_list *list);

#endif
