/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the readers of JSON and of YAML fill alike: cJSON's tree, and for each of its values, in the
 * same order, where it stands.
 */
#ifndef MS_JSON_DOCUMENT_H
#define MS_JSON_DOCUMENT_H

#include <cjson/cJSON.h>

#include "json/place.h"
#include "json/value.h"

struct ms_json {
    ms_json_source source;
    ms_json_spans spans;
    ms_json_marks marks;
    cJSON *tree;
};

#endif
