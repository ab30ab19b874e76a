/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * TOML parsed into the same values as JSON, with positions. What files of settings have of it: keys
 * with texts of one line, numbers, booleans and lists of these, in sections. A section is a member
 * of the outermost object, with its dots in its name. Refused: all else, keys and sections that
 * appear twice, dotted keys, dates, inf and nan.
 */
#ifndef MS_BASE_JSON_TOML_H
#define MS_BASE_JSON_TOML_H

#include "base/json/value.h"

enum { MS_TOML_MAX_BYTES = 1 << 20, MS_TOML_MAX_VALUES = 1 << 14 };

/* As ms_json_parse. */
ms_status ms_toml_parse(const ms_json_source *source, ms_json **document, ms_error *err);

#endif
