/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The keys of a model's config that affect memory, as read or by default, with the names of its own
 * file. Configs are compared by them.
 */
#ifndef MS_REPORT_VIEW_CONFIG_FIELDS_H
#define MS_REPORT_VIEW_CONFIG_FIELDS_H

#include "report/view/metadata.h"

/* Fills the list; items and texts belong to the arena. Keys in an object are
 * "text_config.hidden_size". False when out of memory. */
bool ms_config_fields(const ms_model_config *model, ms_arena *arena, ms_field_list *list);

#endif
