/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A YAML document under construction: libyaml's events and their positions in the text.
 */
#ifndef MS_BASE_JSON_YAML_BUILDER_H
#define MS_BASE_JSON_YAML_BUILDER_H

#include <yaml.h>

#include "base/json/document.h"

typedef struct ms_yaml_anchor {
    char *name;
    uint32_t index;
    uint32_t height;   /* of the containers in it */
    const cJSON *tree; /* NULL: not complete yet */
} ms_yaml_anchor;

typedef struct ms_yaml_builder {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one; deleted when has_event */
    bool has_event;
    ms_json *document;
    ms_vec(ms_yaml_anchor) anchors;
    size_t characters, bytes; /* one position as both, for ms_yaml_byte_of */
    size_t end;               /* where the last scalar or bracket ended */
    uint32_t depth, deepest;
    uint32_t open; /* the span being filled, for the pointer of a message */
    ms_error *err;
} ms_yaml_builder;

/* Advances to the next event and deletes the previous one. */
ms_status ms_yaml_step(ms_yaml_builder *b);

/* Byte offsets and lengths in the text. */
size_t ms_yaml_byte_of(ms_yaml_builder *b, const yaml_mark_t *mark);
size_t ms_yaml_event_start(ms_yaml_builder *b);
size_t ms_yaml_event_bytes(ms_yaml_builder *b);

/* Record a failure: at a position; at the current event; out of memory. */
__attribute__((format(printf, 5, 6))) ms_status ms_yaml_fail(const ms_yaml_builder *b, size_t at,
                                                             size_t bytes, ms_status status,
                                                             const char *format, ...);
#define ms_yaml_fail_event(b, status, ...)                                                         \
    ms_yaml_fail((b), ms_yaml_event_start(b), ms_yaml_event_bytes(b), (status), __VA_ARGS__)
ms_status ms_yaml_fail_memory(const ms_yaml_builder *b);

#endif
