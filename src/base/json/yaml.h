/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * YAML parsed into the same values as JSON, with positions, so that the same getters serve both.
 * Booleans follow YAML 1.1, as Python's parsers do (yes and off); numbers follow JSON, so 1e-5 is a
 * number. Refused: tags, merge keys, keys that are no strings, duplicate keys, several documents,
 * aliases to a container that encloses them.
 */
#ifndef MS_BASE_JSON_YAML_H
#define MS_BASE_JSON_YAML_H

#include <cjson/cJSON.h>

#include "base/json/scan.h"
#include "base/json/value.h"

/* ---- yaml scalar ---- */

/* The type of an unquoted YAML scalar: null, boolean, number or string. */

/* The caller deletes it; NULL: out of memory. */
cJSON *ms_yaml_plain(const char *text, ms_json_kind *kind);

enum {
    MS_YAML_MAX_BYTES = 1 << 20,
    MS_YAML_MAX_VALUES = 1 << 14, /* values repeated by an alias count each time */
    MS_YAML_MAX_ANCHORS = 256
};

/* As ms_json_parse. */
ms_status ms_yaml_parse(const ms_json_source *source, ms_json **document, ms_error *err);

/* A text that begins with { or [ is JSON, unless its name ends in .yaml or .yml; otherwise YAML.
 * TOML is what its name ends in. */
ms_status ms_json_or_yaml_parse(const ms_json_source *source, ms_json **document, ms_error *err);

#endif
