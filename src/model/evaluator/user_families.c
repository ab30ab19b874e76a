/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/user_families.h"

#include <string.h>
#include <sys/stat.h>

#include "input/config/model/input.h"
#include "model/evaluator/family.h"

/* A family of a file; texts that it imports may be beside it. */
static const ms_family *family_of_file(ms_arena *arena, const ms_family_list *list,
                                       const char *path, ms_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *beside = slash ? ms_arena_printf(arena, "%.*s", (int)(slash - path), path)
                               : ms_arena_strdup(arena, ".");
    ms_family_file *file = ms_arena_array(arena, ms_family_file, 1);
    if (!file || !beside) {
        ms_error_set(err, MS_ERR_NOMEM, "out of memory for a family");
        return NULL;
    }
    if (ms_family_file_read(arena, path, file, err) != MS_OK)
        return NULL;
    return ms_family_of_text(arena, file, beside, list, err);
}

/* Whether a model type can be a file's name: it comes from a config, and leads nowhere else. */
static bool is_plain(const char *model_type)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    return *model_type && *model_type != '.' && strspn(model_type, known) == strlen(model_type);
}

const ms_family *ms_family_of_user(ms_arena *arena, const ms_family_list *list,
                                   const char *model_type, ms_error *err)
{
    const char *path = list->folder && is_plain(model_type)
                           ? ms_arena_printf(arena, "%s/%s.family", list->folder, model_type)
                           : NULL;
    if (!path || !ms_is_regular_file(path))
        return NULL;
    const ms_family *family = family_of_file(arena, list, path, err);
    if (!family || strcmp(family->model_type, model_type) == 0)
        return family;
    ms_error_set(err, MS_ERR_CONFIG, "%.200s: the model_type is '%.40s', and not '%.40s'", path,
                 family->model_type, model_type);
    return NULL;
}

const ms_family_list *ms_families_with(ms_arena *arena, const ms_family_list *list,
                                       const char *path, ms_error *err)
{
    const ms_family *family = family_of_file(arena, list, path, err);
    if (!family)
        return NULL;
    ms_family_list *longer = ms_arena_array(arena, ms_family_list, 1);
    const ms_family **items = ms_arena_array(arena, const ms_family *, list->count + 1);
    if (!longer || !items) {
        ms_error_set(err, MS_ERR_NOMEM, "out of memory for a family");
        return NULL;
    }
    items[0] = family;
    memcpy(items + 1, list->items, list->count * sizeof(const ms_family *));
    *longer = *list;
    longer->items = items;
    longer->count = list->count + 1;
    return longer;
}

const ms_family_list *ms_families_in(ms_arena *arena, const ms_family_list *list,
                                     const char *folder, ms_error *err)
{
    struct stat info;
    if (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode)) {
        ms_error_set(err, MS_ERR_IO, "families: there is no folder %.200s", folder);
        return NULL;
    }
    ms_family_list *with = ms_arena_array(arena, ms_family_list, 1);
    if (!with) {
        ms_error_set(err, MS_ERR_NOMEM, "out of memory for a folder of families");
        return NULL;
    }
    *with = *list;
    with->folder = folder;
    return with;
}
