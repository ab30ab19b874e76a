/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/trainers/keys/key_table.h"

#include <string.h>
#include <strings.h>

#include "base/json/embedded.h"

static const char *const table_names[] = {
    [MS_TRAINING_HF] = "hf",
    [MS_TRAINING_AXOLOTL] = "axolotl",
    [MS_TRAINING_FACTORY] = "llamafactory",
    [MS_TRAINING_TORCHTUNE] = "torchtune",
    [MS_TRAINING_TITAN] = "torchtitan",
    [MS_TRAINING_SWIFT] = "ms-swift",
    [MS_TRAINING_V1] = "llamafactory-v1",
};

/* ---- lines ---- */

static uint32_t count_lines(const char *text)
{
    uint32_t count = 0;
    for (; text && *text; text++)
        count += *text == '\n';
    return count;
}

/* The next word of a line, which ends in place; "" past the last. */
static const char *take_word(char **at)
{
    char *word = *at + strspn(*at, " ");
    size_t bytes = strcspn(word, " ");
    *at = word + bytes + (word[bytes] == ' ');
    word[bytes] = '\0';
    return word;
}

static bool find_effect(const char *word, ms_key_row *row)
{
    row->is_used = strcmp(word, "used") == 0;
    for (int i = 0; i < MS_EFFECT_COUNT; i++)
        if (strcmp(word, ms_key_effect_names[i]) == 0) {
            row->effect = (ms_key_effect)i;
            return true;
        }
    return row->is_used;
}

static ms_status read_line(char *line, ms_key_row *row, ms_error *err)
{
    row->key = take_word(&line);
    const char *effect = take_word(&line);
    row->values = take_word(&line);
    row->meaning = line + strspn(line, " ");
    return find_effect(effect, row) && *row->values
               ? MS_OK
               : ms_fail(err, MS_ERR_INTERNAL, "'%s' is no row of a table of keys", row->key);
}

/* The rows are parts of one copy. */
static ms_status read_text(ms_arena *arena, const char *text, ms_key_rows *table, ms_error *err)
{
    ms_status status = MS_OK;
    char *copy = text ? ms_arena_strdup(arena, text) : NULL;
    if (text && !copy)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a table of keys");
    for (char *line = copy, *next; line && *line && status == MS_OK; line = next) {
        size_t bytes = strcspn(line, "\n");
        next = line + bytes + (line[bytes] == '\n');
        line[bytes] = '\0';
        if (*line && *line != '#')
            status = read_line(line, &table->rows[table->count++], err);
    }
    return status;
}

ms_status ms_key_table_read(ms_arena *arena, ms_training_format format, ms_key_rows tables[],
                            ms_error *err)
{
    const char *own = ms_embedded_keys_find(table_names[format]);
    const bool shares = format == MS_TRAINING_FACTORY || format == MS_TRAINING_SWIFT;
    const char *shared = shares ? ms_embedded_keys_find("hf") : NULL;
    ms_key_rows *table = &tables[format];
    if (table->rows)
        return MS_OK;
    *table = (ms_key_rows){
        .rows = ms_arena_array(arena, ms_key_row, count_lines(own) + count_lines(shared) + 1)};
    if (!table->rows)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a table of keys");
    ms_status status = read_text(arena, own, table, err);
    return status == MS_OK ? read_text(arena, shared, table, err) : status;
}

/* ---- paths ---- */

ms_key_match ms_key_row_match(const char *key, const char *path)
{
    for (;;) {
        size_t key_bytes = strcspn(key, "/"), path_bytes = strcspn(path, "/");
        bool is_any = key_bytes == 1 && *key == '*';
        if (!is_any && (key_bytes != path_bytes || strncmp(key, path, key_bytes) != 0))
            return MS_KEY_APART;
        key += key_bytes;
        path += path_bytes;
        if (!*key || !*path)
            return *key ? MS_KEY_BELOW : *path ? MS_KEY_ABOVE : MS_KEY_EXACT;
        key++;
        path++;
    }
}

/* ---- values ---- */

/* Whether the text is one of `values`, which have commas between. */
static bool is_among(const char *values, const char *text, size_t bytes)
{
    while (*values) {
        size_t length = strcspn(values, ",");
        if (length == bytes && strncasecmp(values, text, bytes) == 0)
            return true;
        values += length + (values[length] == ',');
    }
    return false;
}

static bool allows(const char *values, ms_json_value value)
{
    const char *text = NULL;
    size_t bytes;
    if (ms_json_get_string(value, &text, NULL) == MS_OK)
        return is_among(values, text, strlen(text));
    text = ms_json_source_text(value, &bytes);
    bool truth;
    if (ms_json_get_bool(value, &truth, NULL) == MS_OK) { /* YAML has more words for it */
        static const char *const words[2][3] = {{"false", "no", "off"}, {"true", "yes", "on"}};
        for (int i = 0; i < 3; i++)
            if (is_among(values, words[truth][i], strlen(words[truth][i])))
                return true;
        return false;
    }
    return is_among(values, text, bytes);
}

bool ms_key_row_allows(const ms_key_row *row, ms_json_value value)
{
    ms_json_value item;
    if (strcmp(row->values, "-") == 0 || ms_json_kind_of(value) == MS_JSON_NULL)
        return ms_training_says_nothing(value);
    if (ms_json_kind_of(value) != MS_JSON_ARRAY)
        return allows(row->values, value);
    bool all = true;
    for (bool more = ms_json_first(value, &item); more && all; more = ms_json_next(&item))
        all = allows(row->values, item);
    return all;
}

bool ms_key_is_listed(const char *name, ms_training_format format)
{
    size_t bytes = strlen(name);
    const char *text = ms_embedded_keys_find(table_names[format]);
    for (const char *line = text; line && *line; line += strcspn(line, "\n") + 1)
        if (strncmp(line, name, bytes) == 0 && (line[bytes] == ' ' || line[bytes] == '/'))
            return true;
    return false;
}
