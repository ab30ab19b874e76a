/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The text of a launch: what is accepted becomes documents of which every value has its place, also
 * where both are joined; what is not is refused with a sentence.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "input/config/launch/join_settings.h"
#include "input/config/launch/launch.h"
#include "input/config/launch/shell/shell.h"
#include "fuzz/fuzz.h"

/* Every value is walked to, and has a line. */
static void walk(ms_json_value value)
{
    size_t bytes;
    ms_json_value v;
    ms_error err = {0};
    assert(ms_json_source_text(value, &bytes));
    ms_json_error_set(&err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "here");
    assert(err.line > 0 && err.column > 0);
    for (bool more = ms_json_first(value, &v); more; more = ms_json_next(&v))
        walk(v);
}

static void join(ms_arena *arena, ms_json *const *documents)
{
    ms_settings_part parts[2];
    size_t count = 0;
    ms_json *merged = NULL;
    ms_notes notes = {0};
    ms_error err = {0};
    for (int i = 0; i < 2; i++)
        if (documents[i]) {
            walk(ms_json_root(documents[i]));
            parts[count++] =
                (ms_settings_part){.kind = i == 0 ? MS_SETTINGS_LAUNCHER : MS_SETTINGS_WORDS,
                                   .root = ms_json_root(documents[i]),
                                   .is_deep = true};
        }
    if (count == 0)
        return;
    if (ms_settings_join(arena, parts, count, &merged, &notes, &err) == MS_OK)
        walk(ms_json_root(merged));
    else
        assert(err.text[0]);
    ms_json_free(merged);
}

static void read_launch(ms_arena *arena, const char *text)
{
    ms_launch launch;
    ms_json *documents[2] = {NULL};
    char *texts[2] = {NULL};
    ms_error err = {0};
    ms_status status = ms_launch_read(arena, text, NULL, &launch, NULL, &err);
    if (status == MS_OK)
        status = ms_launch_document(&launch, &launch.launcher, &documents[0], &texts[0], &err);
    if (status == MS_OK)
        status = ms_launch_document(&launch, &launch.trainer, &documents[1], &texts[1], &err);
    assert(status == MS_OK || err.text[0]);
    ms_launch_end(&launch);
    if (status == MS_OK)
        join(arena, documents);
    for (int i = 0; i < 2; i++) {
        ms_json_free(documents[i]);
        free(texts[i]);
    }
}

static ms_status pass_over(void *context, const ms_shell *shell, const ms_shell_words *words,
                           bool is_inner)
{
    (void)context, (void)shell, (void)is_inner;
    for (uint32_t i = 0; i < words->count; i++)
        assert(words->items[i].text && words->items[i].line > 0);
    return MS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ms_arena *arena = ms_arena_create(16 << 20);
    char *text = malloc(size + 1);
    ms_error err = {0};
    if (arena && text) {
        ms_shell shell = {
            .arena = arena, .source = {"text", (const char *)data, size}, .err = &err};
        ms_status status = ms_shell_read(&shell, pass_over, NULL);
        assert(status == MS_OK || err.text[0]);
        ms_shell_end(&shell);
        if (size > 0)
            memcpy(text, data, size);
        text[size] = '\0';
        if (*text != '@')
            read_launch(arena, text);
    }
    free(text);
    ms_arena_free(arena);
    return 0;
}
