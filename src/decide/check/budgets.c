/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/check/budgets.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/inputs.h"
#include "base/vec.h"
#include "input/config/model/input.h"
#include "input/config/load/locate.h"
#include "model/families.h"

enum { NAME_BYTES = 200 };

/* A file that is being read. */
typedef struct reading {
    ms_arena *arena;
    const char *path; /* of the file */
    ms_budget defaults;
    ms_vec(ms_budget) entries;
    ms_error *err;
} reading;

static ms_status no_memory(const reading *r)
{
    return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for the budgets");
}

/* ---- members ---- */

/* A text that is not empty. */
static ms_status read_text(const reading *r, ms_json_value value, const char **text)
{
    const char *found = NULL;
    ms_status status = ms_json_get_string(value, &found, r->err);
    if (status != MS_OK)
        return status;
    if (!*found || strlen(found) > NAME_BYTES)
        return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "expected a text of 1 to %d bytes", NAME_BYTES);
    *text = ms_arena_strdup(r->arena, found);
    return *text ? MS_OK : no_memory(r);
}

static ms_status read_name(const reading *r, ms_json_value value, ms_budget *b)
{
    b->place = ms_place_of(r->arena, value, MS_JSON_AT_VALUE);
    ms_status status = read_text(r, value, &b->name);
    for (const char *p = b->name; status == MS_OK && p && *p; p++)
        if ((unsigned char)*p < ' ')
            return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                "a name cannot contain control characters");
    return status == MS_OK && !b->place ? no_memory(r) : status;
}

static ms_status read_config(const reading *r, ms_json_value value, ms_budget *b)
{
    b->config_place = ms_place_of(r->arena, value, MS_JSON_AT_VALUE);
    ms_status status = read_text(r, value, &b->config);
    if (status == MS_OK && strcmp(b->config, "-") == 0)
        return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "a budget cannot take its config from standard input");
    return status == MS_OK && !b->config_place ? no_memory(r) : status;
}

static ms_status read_run(const reading *r, ms_json_value value, ms_budget *b)
{
    b->run = value;
    b->config_place = ms_place_of(r->arena, value, MS_JSON_AT_KEY);
    return b->config_place ? ms_json_expect(value, MS_JSON_OBJECT, r->err) : no_memory(r);
}

static ms_status read_infer(const reading *r, ms_json_value value, ms_budget *b)
{
    b->infer = value;
    b->config_place = ms_place_of(r->arena, value, MS_JSON_AT_KEY);
    return b->config_place ? ms_json_expect(value, MS_JSON_OBJECT, r->err) : no_memory(r);
}

static ms_status read_device(const reading *r, ms_json_value value, ms_budget *b)
{
    return read_text(r, value, &b->device);
}

static ms_status read_baseline(const reading *r, ms_json_value value, ms_budget *b)
{
    b->baseline_place = ms_place_of(r->arena, value, MS_JSON_AT_VALUE);
    ms_status status = read_text(r, value, &b->baseline);
    return status == MS_OK && !b->baseline_place ? no_memory(r) : status;
}

static ms_status read_limits(const reading *r, ms_json_value value, ms_budget *b)
{
    return ms_limits_read(r->arena, value, &b->limits, r->err);
}

/* Those from `device` on may be defaults. */
static const char *const keys[] = {"name",   "config", "run",     "infer",
                                   "device", "limits", "baseline"};
static ms_status (*const readers[])(const reading *r, ms_json_value value, ms_budget *b) = {
    read_name, read_config, read_run, read_infer, read_device, read_limits, read_baseline};
enum { KEYS = sizeof keys / sizeof keys[0], FIRST_DEFAULT = 4 };
_Static_assert(sizeof readers / sizeof readers[0] == KEYS, "a key has no reader");

static ms_status read_members(const reading *r, ms_json_value object, size_t first, ms_budget *b)
{
    ms_json_value v;
    ms_status status = ms_json_expect(object, MS_JSON_OBJECT, r->err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(object, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        size_t i = first;
        while (i < KEYS && strcmp(keys[i], ms_json_key(v)) != 0)
            i++;
        status = i < KEYS ? readers[i](r, v, b)
                          : ms_fail_unknown_key(v, keys + first, KEYS - first, r->err);
    }
    return status;
}

/* ---- paths ---- */

/* A path in the file starts at the file. */
static const char *beside(const reading *r, const char *path)
{
    const char *slash = strrchr(r->path, '/');
    if (!slash || path[0] == '/')
        return path;
    return ms_arena_printf(r->arena, "%.*s/%s", (int)(slash - r->path), r->path, path);
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
}

/* A star in the baseline's path stands for the entry's name. */
static ms_status settle_baseline(const reading *r, ms_budget *b)
{
    const char *star = b->baseline ? strchr(b->baseline, '*') : NULL;
    if (star) {
        char *name = ms_arena_strdup(r->arena, b->name);
        for (char *p = name; p && *p; p++)
            *p = is_plain(*p) ? *p : '-';
        b->baseline = name ? ms_arena_printf(r->arena, "%.*s%s%s", (int)(star - b->baseline),
                                             b->baseline, name, star + 1)
                           : NULL;
        if (!b->baseline)
            return no_memory(r);
    }
    if (b->baseline)
        b->baseline = beside(r, b->baseline);
    return b->baseline || !b->baseline_place ? MS_OK : no_memory(r);
}

/* ---- entries ---- */

static ms_status push(reading *r, ms_budget *b)
{
    ms_status status = settle_baseline(r, b);
    if (status != MS_OK)
        return status;
    return ms_vec_push(&r->entries, *b) ? MS_OK : no_memory(r);
}

/* By name, then as they stand in the file. */
static int compare_names(const void *left, const void *right)
{
    const ms_budget *a = *(const ms_budget *const *)left, *b = *(const ms_budget *const *)right;
    int found = strcmp(a->name, b->name);
    return found ? found : (a > b) - (a < b);
}

/* The first of the file whose name is there already. */
static const ms_budget *find_twice(const ms_budget **sorted, uint32_t count)
{
    const ms_budget *twice = NULL;
    qsort(sorted, count, sizeof *sorted, compare_names);
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(sorted[i]->name, sorted[i - 1]->name) == 0 && (!twice || sorted[i] < twice))
            twice = sorted[i];
    return twice;
}

static ms_status check_names(const reading *r)
{
    const ms_budget **sorted = calloc((size_t)r->entries.count + 1, sizeof(const ms_budget *));
    if (!sorted)
        return no_memory(r);
    for (uint32_t i = 0; i < r->entries.count; i++)
        sorted[i] = &r->entries.items[i];
    const ms_budget *twice = find_twice(sorted, r->entries.count);
    free(sorted);
    if (!twice)
        return MS_OK;
    if (r->err && r->err->status == MS_OK) {
        ms_error_set(r->err, MS_ERR_CONFIG, "two budgets are named '%.80s'", twice->name);
        ms_error_copy_place(r->err, twice->place);
    }
    return MS_ERR_CONFIG;
}

/* A default device gives way to the run's own. */
static ms_status settle_device(const reading *r, ms_budget *b)
{
    ms_error place;
    const ms_run_files files = {
        .families = ms_families(), .config = b->config, .run = b->run, .path = r->path};
    ms_json_value own;
    if (b->device || !r->defaults.device)
        return MS_OK;
    if (b->infer.document) {
        b->device = ms_json_find(b->infer, "device", &own) ? NULL : r->defaults.device;
        return MS_OK;
    }
    if (ms_run_locate(r->arena, &files, "device", &place))
        return MS_OK;
    b->device = r->defaults.device;
    return place.status == MS_ERR_NOMEM ? no_memory(r) : MS_OK;
}

/* A pattern is not looked for in a folder that the inputs don't admit. */
static ms_status admit_pattern(const reading *r, ms_json_value entry, const char *pattern)
{
    ms_error reason = {.status = MS_OK};
    size_t bytes = strcspn(pattern, "*?[");
    while (bytes > 0 && pattern[bytes - 1] != '/')
        bytes--;
    const char *folder = bytes ? ms_arena_printf(r->arena, "%.*s", (int)bytes, pattern)
                               : ms_arena_strdup(r->arena, ".");
    if (!folder)
        return no_memory(r);
    ms_status status = ms_inputs_admit(ms_arena_inputs(r->arena), folder, &reason);
    return status == MS_OK ? MS_OK
                           : ms_json_fail(r->err, entry, MS_JSON_AT_VALUE, status, "%.160s: %s",
                                          pattern, reason.text);
}

/* Nor are the names of such files told, which a pattern finds over links and "..". */
static ms_status admit_match(const reading *r, ms_json_value entry, const ms_budget *b,
                             const char *found)
{
    ms_error reason = {.status = MS_OK};
    ms_status status = ms_inputs_admit(ms_arena_inputs(r->arena), found, &reason);
    return status == MS_OK
               ? MS_OK
               : ms_json_fail(r->err, entry, MS_JSON_AT_VALUE, status,
                              "a file that '%.80s' matches: %s", b->config, reason.text);
}

/* Each file that the pattern matches is an entry, named after the file. */
static ms_status push_matches(reading *r, ms_json_value entry, const ms_budget *b)
{
    glob_t found;
    const char *pattern = beside(r, b->config);
    if (!pattern)
        return no_memory(r);
    ms_status status = admit_pattern(r, entry, pattern);
    if (status != MS_OK)
        return status;
    int failed = glob(pattern, 0, NULL, &found);
    if (failed == GLOB_NOMATCH)
        return ms_json_fail(r->err, entry, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "config '%.80s' matches no file", b->config);
    if (failed == GLOB_NOSPACE)
        return no_memory(r);
    if (failed)
        return ms_json_fail(r->err, entry, MS_JSON_AT_VALUE, MS_ERR_IO, "cannot search for '%.80s'",
                            b->config);
    size_t before = strlen(pattern) - strlen(b->config);
    for (size_t i = 0; i < found.gl_pathc && status == MS_OK; i++) {
        ms_budget one = *b;
        one.config = ms_arena_strdup(r->arena, found.gl_pathv[i]);
        one.name = ms_arena_printf(r->arena, "%s: %s", b->name, found.gl_pathv[i] + before);
        status = one.config && one.name ? admit_match(r, entry, b, one.config) : no_memory(r);
        if (status == MS_OK)
            status = settle_device(r, &one);
        if (status == MS_OK)
            status = push(r, &one);
    }
    globfree(&found);
    return status;
}

static bool is_pattern(const char *config)
{
    return !ms_is_preset(config) && strpbrk(config, "*?[") != NULL;
}

static bool is_of_inference(ms_measure measure)
{
    return measure == MS_MEASURE_PEAK || measure == MS_MEASURE_WEIGHTS;
}

static ms_status read_entry(reading *r, ms_json_value value)
{
    ms_budget b = r->defaults;
    b.device = NULL;
    ms_status status = read_members(r, value, 0, &b);
    if (status != MS_OK)
        return status;
    if (!b.name)
        return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "expected a \"name\" in each budget");
    if (!b.config + !b.run.document + !b.infer.document != 2)
        return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "expected either \"config\", \"run\" or \"infer\"");
    if (b.infer.document && !is_of_inference(b.limits.measure))
        return ms_json_fail(
            r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
            "phase: %s belongs to a step of training; inference has peak and weights",
            ms_measure_names[b.limits.measure]);
    if (b.config && is_pattern(b.config))
        return push_matches(r, value, &b);
    if (b.config && !(b.config = ms_path_beside(r->arena, r->path, b.config)))
        return no_memory(r);
    status = settle_device(r, &b);
    return status == MS_OK ? push(r, &b) : status;
}

static ms_status read_entries(reading *r, ms_json_value root)
{
    ms_json_value list, v;
    ms_status status = ms_json_get_list(root, "budgets", &list, r->err);
    if (status == MS_OK && ms_json_length(list) == 0)
        return ms_json_fail(r->err, list, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "there are no budgets, so nothing would be checked");
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(list, &v); more && status == MS_OK; more = ms_json_next(&v))
        status = read_entry(r, v);
    return status == MS_OK ? check_names(r) : status;
}

static ms_status read_root(reading *r, ms_json_value root)
{
    static const char *const root_keys[] = {"$schema", "defaults", "budgets"};
    enum { ROOT_KEYS = sizeof root_keys / sizeof root_keys[0] };
    ms_json_value v;
    ms_status status = ms_json_expect(root, MS_JSON_OBJECT, r->err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(root, &v); more; more = ms_json_next(&v)) {
        size_t i = 0;
        while (i < ROOT_KEYS && strcmp(root_keys[i], ms_json_key(v)) != 0)
            i++;
        if (i == ROOT_KEYS)
            return ms_fail_unknown_key(v, root_keys, ROOT_KEYS, r->err);
    }
    if (ms_json_find(root, "defaults", &v))
        status = read_members(r, v, FIRST_DEFAULT, &r->defaults);
    return status == MS_OK ? read_entries(r, root) : status;
}

ms_status ms_budgets_read(ms_arena *arena, ms_json_value root, const char *path,
                          ms_budgets *budgets, ms_error *err)
{
    reading r = {.arena = arena, .path = path, .err = err};
    ms_status status = read_root(&r, root);
    ms_budget *items = status == MS_OK ? ms_arena_array(arena, ms_budget, r.entries.count) : NULL;
    if (items && r.entries.count > 0)
        memcpy(items, r.entries.items, r.entries.count * sizeof *items);
    else if (status == MS_OK && !items)
        status = no_memory(&r);
    *budgets = (ms_budgets){items, items ? r.entries.count : 0};
    ms_vec_free(&r.entries);
    return status;
}
