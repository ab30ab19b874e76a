/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The result of the readers, JSON, YAML and TOML: cJSON's tree, and the position of each of its
 * values, in the same order.
 */
#ifndef MS_BASE_JSON_DOCUMENT_H
#define MS_BASE_JSON_DOCUMENT_H

#include <cjson/cJSON.h>

#include "base/json/place.h"
#include "base/json/value.h"

/* A value of another document. */
typedef struct ms_json_origin {
    const ms_json *document;
    uint32_t span;
} ms_json_origin;

struct ms_json {
    ms_json_source source;
    ms_json_spans spans;
    ms_json_marks marks;
    cJSON *tree;
    ms_vec(ms_json_origin) origins; /* of a merged document: which value each span is; else empty */
};

#endif
