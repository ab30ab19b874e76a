/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/view/inputs.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text/size.h"

/* What a key was read as, in words. */
static const char *const reading_words[] = {
    [MS_KEY_USED] = "sets",
    [MS_KEY_DEFAULT] = "has no effect with this value",
    [MS_KEY_HARMLESS] = "does not change memory",
    [MS_KEY_ASSUMED] = "assumed not to change memory",
    [MS_KEY_NOT_PREDICTED] = "not predicted",
    [MS_KEY_UNKNOWN] = "not predicted",
};

const char *ms_inputs_dated(ms_arena *arena, const ms_read_keys *keys, const char *verdict)
{
    return verdict && keys->versions ? ms_arena_printf(arena, "%s, as %s", verdict, keys->versions)
                                     : verdict;
}

/* ---- what decides a verdict ---- */

const char *ms_inputs_why(ms_arena *arena, const ms_read_keys *keys)
{
    enum { MOST = 3 };
    const char *text = "", *first = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; text && i < keys->count; i++) {
        const ms_read_key *key = &keys->items[i];
        if (!ms_key_is_open(key))
            continue;
        first = first ? first : key->key;
        if (count++ < MOST)
            text = ms_arena_printf(arena, "%s%s%s %s (%s:%" PRIu32 "), %s, %s", text,
                                   count > 1 ? "; " : "", key->key, key->value, key->file,
                                   key->line, key->meaning, ms_key_effect_texts[key->effect]);
    }
    if (text && count > MOST)
        text = ms_arena_printf(arena, "%s; and %" PRIu32 " more", text, count - MOST);
    return text ? ms_arena_printf(arena,
                                  "not predicted: %s. Give --assume %s=harmless if it does not "
                                  "change the memory of a step",
                                  text, first ? first : "KEY")
                : NULL;
}

/* ---- tables ---- */

/* "not predicted, which adds memory", "sets batch" */
static const char *read_as(const ms_read_key *key, char *text, size_t size)
{
    const char *word = reading_words[key->reading];
    char most[MS_SIZE_TEXT_BYTES];
    if (key->reading == MS_KEY_USED)
        snprintf(text, size, "%s", *key->meaning ? key->meaning : "used");
    else if (ms_key_is_left_out(key) && key->bound)
        snprintf(text, size, "adds at most %s: %s",
                 ms_size_format(key->most_bytes, most, sizeof most), key->meaning);
    else if (ms_key_is_left_out(key))
        snprintf(text, size, "%s, %s: %s", word, ms_key_effect_texts[key->effect], key->meaning);
    else
        snprintf(text, size, "%s%s%s", word, *key->meaning ? ": " : "", key->meaning);
    return text;
}

enum { MOST_READ_AS = 320 };

void ms_inputs_tree(ms_tree *tree, const ms_read_keys *keys)
{
    static const ms_tree_column columns[] = {{.head = "file"},
                                             {.head = "line", .is_figure = true},
                                             {.head = "key"},
                                             {.head = "value"},
                                             {.head = "read as"}};
    char text[MOST_READ_AS];
    uint32_t count[MS_KEY_READING_COUNT] = {0};
    if (keys->count == 0)
        return;
    ms_tree_section(tree, MS_ON_ALL, "inputs", "How the files were read", "");
    ms_tree_table *table = ms_tree_begin_table(tree, MS_OFF_CONSOLE, "The keys of the run's files",
                                               columns, sizeof columns / sizeof *columns);
    if (table)
        table->row_head = MS_NO_ROW_HEAD;
    for (uint32_t i = 0; i < keys->count; i++) {
        const ms_read_key *key = &keys->items[i];
        count[key->reading]++;
        read_as(key, text, sizeof text);
        ms_tree_cell(tree, table, ms_cell_text(key->file));
        ms_tree_cell(tree, table, ms_cell_count(key->line));
        ms_tree_cell(tree, table, ms_cell_code(key->key));
        ms_tree_cell(tree, table, ms_cell_code(key->value));
        ms_tree_cell(tree, table, ms_cell_text(text));
        if (ms_key_is_left_out(key) || key->reading == MS_KEY_ASSUMED)
            ms_tree_say(tree, MS_ON_CONSOLE, "%s:%" PRIu32 ": %s %s: %s", key->file, key->line,
                        key->key, key->value, text);
    }
    if (keys->versions)
        ms_tree_say(tree, MS_ON_ALL, "with the defaults of %s", keys->versions);
    ms_tree_say(tree, MS_ON_CONSOLE,
                "%" PRIu32 " keys set the run, %" PRIu32
                " do not change its memory (each is listed in the HTML and JSON reports)",
                count[MS_KEY_USED], count[MS_KEY_HARMLESS] + count[MS_KEY_DEFAULT]);
}

static const ms_words reading_names = {ms_key_reading_names, MS_KEY_READING_COUNT, 0, 0};
static const ms_words effect_names = {ms_key_effect_names, MS_EFFECT_COUNT, 0, 0};

#define KEY(...) MS_MEMBER(ms_read_key, __VA_ARGS__)
static const ms_member key_members[] = {
    KEY("file", file),
    KEY("line", line),
    KEY("key", key),
    KEY("value", value),
    KEY("read_as", reading, .words = &reading_names),
    KEY("effect", effect, .words = &effect_names),
    KEY("most_bytes", most_bytes, .rules = MS_IF_ANY, .when = MS_PLACE(ms_read_key, bound)),
    KEY("meaning", meaning),
};
static const ms_members key_table = MS_MEMBERS(ms_read_key, key_members, .is_inline = true);

static const ms_member keys_members[] = {
    MS_ROWS(ms_read_keys, "inputs", items, count, &key_table),
    MS_MEMBER(ms_read_keys, "versions", versions, .rules = MS_IF_ANY),
};
const ms_members ms_inputs_table = MS_MEMBERS(ms_read_keys, keys_members);

void ms_inputs_json(ms_json_writer *w, const ms_read_keys *keys)
{
    ms_members_write(w, &ms_inputs_table, keys);
}
