/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A parsed text and typed access to its values. A getter that fails reports file, line, column,
 * JSON pointer, what was found and what was expected. Texts and strings belong to the document;
 * copy what outlives ms_json_free.
 */
#ifndef MS_BASE_JSON_VALUE_H
#define MS_BASE_JSON_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json/scan.h"

typedef struct ms_json ms_json;

/* A value is passed by copy and is valid as long as its document. */
typedef struct ms_json_value {
    const ms_json *document;
    const struct cJSON *tree;
    uint32_t span;
} ms_json_value;

/* Parses a text, which must stay valid as long as the document; free it with ms_json_free. */
ms_status ms_json_parse(const ms_json_source *source, ms_json **document, ms_error *err);
/* The same for up to so many bytes, in place of MS_JSON_MAX_BYTES. */
ms_status ms_json_parse_within(const ms_json_source *source, size_t most_bytes, ms_json **document,
                               ms_error *err);
void ms_json_free(ms_json *document); /* NULL is fine */

/* The version of cJSON, e.g. "1.7.15". Static text. */
const char *ms_json_version(void);

ms_json_value ms_json_root(const ms_json *document);
ms_json_kind ms_json_kind_of(ms_json_value value);
const char *ms_json_key(ms_json_value value); /* "" in arrays */
/* The name of its document: a path, or "<stdin>". */
const char *ms_json_file_name(ms_json_value value);
/* The value's source text, not terminated; `*bytes` is its length. */
const char *ms_json_source_text(ms_json_value value, size_t *bytes);

/* Steps through an array or object: `for (bool more = ms_json_first(object, &v); more;
 * more = ms_json_next(&v))`. */
bool ms_json_first(ms_json_value container, ms_json_value *child);
bool ms_json_next(ms_json_value *child);
uint32_t ms_json_length(ms_json_value container);
/* The member of exactly that name; false when there is none, or `object` is no object. */
bool ms_json_find(ms_json_value object, const char *key, ms_json_value *member);
/* Follows a pointer such as "/model/num_heads". */
bool ms_json_find_pointer(ms_json_value value, const char *pointer, ms_json_value *found);

/* The text of a number without what YAML groups its digits by, and its length. */
size_t ms_json_number_text(ms_json_value value, char text[MS_JSON_MAX_NUMBER_BYTES + 1]);
/* Digits only: 1.0 and 1e3 are no counts. Bounds are inclusive. */
ms_status ms_json_get_count(ms_json_value value, uint64_t minimum, uint64_t maximum,
                            uint64_t *count, ms_error *err);
ms_status ms_json_get_number(ms_json_value value, double minimum, double maximum, double *number,
                             ms_error *err);
ms_status ms_json_get_bool(ms_json_value value, bool *truth, ms_error *err);
ms_status ms_json_get_string(ms_json_value value, const char **text, ms_error *err);
/* A member that must exist; ms_json_get_list also requires an array. */
ms_status ms_json_get_member(ms_json_value object, const char *key, ms_json_value *member,
                             ms_error *err);
ms_status ms_json_get_list(ms_json_value object, const char *key, ms_json_value *list,
                           ms_error *err);
/* Fails unless the value has that kind. */
ms_status ms_json_expect(ms_json_value value, ms_json_kind kind, ms_error *err);

typedef enum ms_json_part { MS_JSON_AT_VALUE, MS_JSON_AT_KEY } ms_json_part;

/* Records a failure about a value or its key, with its place; yields the status. */
#define ms_json_fail(err, value, part, status, ...)                                                \
    (ms_json_error_set((err), (value), (part), (status), __VA_ARGS__), (status))
__attribute__((format(printf, 5, 6))) void ms_json_error_set(ms_error *err, ms_json_value value,
                                                             ms_json_part part, ms_status status,
                                                             const char *format, ...);
#endif
