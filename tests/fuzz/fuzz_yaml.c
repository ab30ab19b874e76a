/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * YAML as values: what is accepted must be walkable, with every place in the text and the tree in
 * step with the places.
 */
#include <assert.h>
#include <float.h>
#include <stdint.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "base/json/yaml.h"

enum { MOST_PLACES = 512 };

/* Visits every value; returns how many there were. */
static uint32_t walk(ms_json_value value, size_t size)
{
    uint32_t count = 1;
    size_t bytes;
    uint64_t number;
    double fraction;
    bool truth;
    const char *text;
    ms_json_value v;
    const char *at = ms_json_source_text(value, &bytes);
    assert(at && bytes <= size);
    (void)ms_json_get_count(value, 0, UINT64_MAX, &number, NULL);
    if (ms_json_kind_of(value) == MS_JSON_NUMBER)
        assert(ms_json_get_number(value, -DBL_MAX, DBL_MAX, &fraction, NULL) == MS_OK);
    if (ms_json_kind_of(value) == MS_JSON_BOOL)
        assert(ms_json_get_bool(value, &truth, NULL) == MS_OK);
    if (ms_json_kind_of(value) == MS_JSON_STRING)
        assert(ms_json_get_string(value, &text, NULL) == MS_OK && text);
    if (value.span < MOST_PLACES) {
        ms_error err = {0};
        ms_json_error_set(&err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "here");
        assert(err.line > 0 && err.column > 0 && strlen(err.excerpt) < sizeof err.excerpt);
    }
    for (bool more = ms_json_first(value, &v); more; more = ms_json_next(&v)) {
        assert(v.span == value.span + count);
        count += walk(v, size);
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ms_json_source source = {"fuzz.yaml", (const char *)data, size};
    ms_json *document = NULL;
    ms_error err = {0};
    if (ms_yaml_parse(&source, &document, &err) == MS_OK)
        assert(walk(ms_json_root(document), size) <= MS_YAML_MAX_VALUES);
    else
        assert(err.status != MS_OK && err.text[0] && err.file[0]);
    ms_json_free(document);
    return 0;
}
