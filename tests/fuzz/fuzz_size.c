/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The size parser and formatter, and the other texts of the command line.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "input/config/treatment/layers.h"
#include "input/config/run/run_fields.h"
#include "base/text/size.h"
#include "input/config/treatment/treatment.h"
#include "fuzz/fuzz.h"

static void try_fields(const char *text)
{
    ms_arena *arena = ms_arena_create(1 << 16);
    ms_run_draft draft = {0};
    for (size_t i = 0; arena && ms_run_field_name(i); i++) {
        ms_error err = {0};
        if (ms_run_field_set(&draft, arena, ms_run_field_name(i), text, &err) != MS_OK)
            assert(err.text[0]);
    }
    ms_error err = {0};
    if (arena && ms_run_field_set(&draft, arena, text, "1", &err) != MS_OK)
        assert(err.text[0]);
    ms_arena_free(arena);
}

/* What can be said can be said again. */
static void try_treatments(const char *text)
{
    enum { LAYERS = 12 };
    ms_arena *arena = ms_arena_create(1 << 18);
    ms_treatment layers[LAYERS] = {{0}};
    ms_treatments t = {.layers = layers};
    ms_error err = {0};
    if (arena && ms_treatments_apply(text, arena, LAYERS, &t, &err) == MS_OK) {
        const char *again = ms_treatments_text(&t, LAYERS, arena);
        if (again && *again)
            assert(ms_treatments_check(again, &err) == MS_OK);
    } else if (arena) {
        assert(err.text[0]);
    }
    ms_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), shown[MS_SIZE_TEXT_BYTES];
    bool layers[12];
    uint64_t bytes = 0;
    ms_error err = {0};
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (ms_size_parse(text, &bytes, &err) != MS_OK)
        assert(err.text[0]);
    ms_size_format(bytes, shown, sizeof shown);
    assert(strlen(shown) + 1 < sizeof shown);
    (void)ms_layer_list_select(text, sizeof layers, layers, NULL);
    try_fields(text);
    try_treatments(text);
    free(text);
    return 0;
}
