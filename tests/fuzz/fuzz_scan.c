/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The scanner and the tree: what is accepted must be walkable, with cJSON agreeing on every value.
 */
#include <assert.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "base/json/string.h"
#include "base/json/value.h"

/* Visits every value; returns how many there were. */
static uint32_t walk(ms_json_value value)
{
    uint32_t count = 1;
    uint64_t number;
    double fraction;
    bool truth;
    const char *text;
    ms_json_value v;
    ms_error err = {0};
    (void)ms_json_get_count(value, 0, UINT64_MAX, &number, NULL);
    (void)ms_json_get_bool(value, &truth, NULL);
    (void)ms_json_get_string(value, &text, NULL);
    if (ms_json_kind_of(value) == MS_JSON_NUMBER)
        assert(ms_json_get_number(value, -DBL_MAX, DBL_MAX, &fraction, NULL) == MS_OK);
    ms_json_error_set(&err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "here");
    assert(err.line > 0 && err.column > 0 && strlen(err.excerpt) < sizeof err.excerpt);
    for (bool more = ms_json_first(value, &v); more; more = ms_json_next(&v))
        count += walk(v);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ms_json_source source = {"fuzz.json", (const char *)data, size};
    ms_json *document = NULL;
    ms_json_spans spans = {0};
    ms_error err = {0};
    if (ms_json_parse(&source, &document, &err) == MS_OK) {
        assert(ms_json_scan(&source, &spans, NULL) == MS_OK);
        if (spans.count < 4096)
            assert(walk(ms_json_root(document)) == spans.count);
    } else {
        assert(err.status != MS_OK && err.text[0] && err.line > 0 && err.caret_length > 0);
    }
    ms_vec_free(&spans);
    ms_json_free(document);
    return 0;
}
