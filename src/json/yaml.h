/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * YAML as the same values that JSON has, with the same places, so that their readers serve both.
 * Words are those of YAML 1.1, which Python's readers take (yes and off are booleans); numbers are
 * JSON's, and 1e-5 is one of them. Refused: tags, merge keys, keys that are no text, keys that
 * stand twice, several documents, aliases of what they stand in.
 */
#ifndef MS_JSON_YAML_H
#define MS_JSON_YAML_H

#include "json/value.h"

enum {
    MS_YAML_MAX_BYTES = 1 << 20,
    MS_YAML_MAX_VALUES = 1 << 14, /* what aliases repeat counts each time */
    MS_YAML_MAX_ANCHORS = 256
};

/* As ms_json_parse. */
ms_status ms_yaml_parse(const ms_json_source *source, ms_json **document, ms_error *err);

/* A text that begins with { or [ is JSON, unless it is called .yaml or .yml; all else is YAML. */
ms_status ms_json_or_yaml_parse(const ms_json_source *source, ms_json **document, ms_error *err);

/* The version of libyaml, e.g. "0.2.5". Static text. */
const char *ms_yaml_version(void);

#endif
