/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The type of an unquoted YAML scalar: null, boolean, number or string.
 */
#ifndef MS_BASE_JSON_YAML_SCALAR_H
#define MS_BASE_JSON_YAML_SCALAR_H

#include <cjson/cJSON.h>

#include "base/json/scan.h"

/* The caller deletes it; NULL: out of memory. */
cJSON *ms_yaml_plain(const char *text, ms_json_kind *kind);

#endif
