/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a plain scalar of YAML is: a word, a number or a text.
 */
#ifndef MS_JSON_YAML_SCALAR_H
#define MS_JSON_YAML_SCALAR_H

#include <cjson/cJSON.h>

#include "json/scan.h"

/* The caller deletes it; NULL: out of memory. */
cJSON *ms_yaml_plain(const char *text, ms_json_kind *kind);

#endif
