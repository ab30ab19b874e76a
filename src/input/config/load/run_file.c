/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/load/run_file.h"

#include <string.h>

#include "input/config/launch/shell/shell.h"
#include "base/text/nearest.h"

/* Keys of a run file that are no fields of the run. */
static const char *const other_keys[] = {"model", "$schema"};

static bool is_other_key(const char *name)
{
    for (size_t i = 0; i < sizeof other_keys / sizeof other_keys[0]; i++)
        if (strcmp(other_keys[i], name) == 0)
            return true;
    return false;
}

static ms_status fail_unknown(ms_json_value value, ms_error *err)
{
    char hint[MS_CONFIG_HINT_BYTES];
    const char *name = ms_json_key(value);
    if (ms_name_equal(name, "config"))
        return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "a run file names its model in \"model\"");
    return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "unknown key '%.64s'%s", name,
                        ms_run_field_hint(name, hint));
}

/* A list of texts, each as if it were given again. */
static ms_status set_each(ms_arena *arena, ms_json_value list, const char *name,
                          ms_run_draft *draft, ms_error *err)
{
    ms_json_value v;
    const char *text = NULL;
    ms_status status = MS_OK;
    if (ms_json_length(list) == 0)
        return ms_json_fail(err, list, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "the list is empty");
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        status = ms_json_get_string(v, &text, err);
        if (status == MS_OK && strcmp(name, "launch") == 0)
            text = ms_shell_quote(arena, text);
        if (status == MS_OK && !text)
            return ms_fail(err, MS_ERR_NOMEM, "out of memory for a word");
        if (status == MS_OK)
            status = ms_run_field_set(draft, arena, name, text, err);
    }
    return status;
}

/* The value as the command line would spell it. A size without a unit goes through: its setter says
 * best what is missing. */
static ms_status value_text(ms_arena *arena, ms_json_value value, size_t index, const char **text,
                            ms_error *err)
{
    size_t bytes;
    const char *written = ms_json_source_text(value, &bytes);
    bool is_number = ms_json_kind_of(value) == MS_JSON_NUMBER;
    ms_config_written written_as = ms_run_field_kind(index)->written;
    bool takes_words = ms_run_field_kind(index)->takes_words;
    bool wants_number = written_as == MS_WRITTEN_NUMBER;
    if (is_number && strcmp(ms_run_field_name(index), "torch") == 0)
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "expected a string such as \"2.11\": as a number, 2.10 is 2.1");
    if (written_as == MS_WRITTEN_FLAG) {
        bool truth = false;
        *text = ms_json_get_bool(value, &truth, NULL) == MS_OK && truth ? "true" : "false";
        return ms_json_expect(value, MS_JSON_BOOL, err);
    }
    if (!is_number || written_as == MS_WRITTEN_STRING) {
        if (wants_number && ms_json_kind_of(value) != MS_JSON_STRING)
            return ms_json_expect(value, MS_JSON_NUMBER, err);
        ms_status status = ms_json_get_string(value, text, err);
        if (status == MS_OK && wants_number && !takes_words && strcmp(*text, "none") != 0)
            return ms_json_expect(value, MS_JSON_NUMBER, err);
        return status;
    }
    *text = ms_arena_printf(arena, "%.*s", (int)bytes, written);
    return *text ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for a value");
}

static ms_status read_field(ms_arena *arena, ms_json_value value, size_t index, ms_run_draft *draft,
                            ms_error *err)
{
    const char *name = ms_run_field_name(index), *text = NULL;
    if (ms_run_table.rows[index].added_after && ms_json_kind_of(value) == MS_JSON_ARRAY)
        return set_each(arena, value, name, draft, err);
    ms_status status = value_text(arena, value, index, &text, err);
    if (status != MS_OK)
        return status;
    ms_error reason = {0};
    status = ms_run_field_set(draft, arena, name, text, &reason);
    if (status == MS_OK)
        return status;
    /* The place names the field already. */
    const char *said = reason.text;
    if (strncmp(said, name, strlen(name)) == 0 && strncmp(said + strlen(name), ": ", 2) == 0)
        said += strlen(name) + 2;
    if (status == MS_ERR_USAGE)
        status = MS_ERR_CONFIG;
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, status, "%s", said);
}

ms_status ms_run_file_read(ms_arena *arena, ms_json_value root, ms_run_draft *draft,
                           ms_run_origins *origins, ms_error *err)
{
    ms_json_value v;
    for (bool more = ms_json_first(root, &v); more; more = ms_json_next(&v)) {
        int index = ms_run_field_find(ms_json_key(v));
        if (is_other_key(ms_json_key(v)))
            continue;
        if (index < 0 || strcmp(ms_run_field_name((size_t)index), "config") == 0)
            return fail_unknown(v, err);
        if (origins->in_file[index])
            return ms_json_fail(err, v, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                                "the same field as \"%.40s\"", ms_json_key(origins->values[index]));
        ms_status status = read_field(arena, v, (size_t)index, draft, err);
        if (status != MS_OK)
            return status;
        origins->in_file[index] = true;
        origins->values[index] = v;
    }
    return MS_OK;
}
