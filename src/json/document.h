/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The result of both readers, JSON and YAML: cJSON's tree, and the position of each of its values,
 * in the same order.
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
