/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/weights/tensor_index.h"

#include <string.h>

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for the index of the tensors");
}

static int by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static int by_tensor(const void *a, const void *b)
{
    const ms_tensor_entry *x = a, *y = b;
    return strcmp(x->tensor, y->tensor);
}

/* A file of the same folder: a path would lead out of it. */
static ms_status read_name(ms_json_value value, const char **name, ms_error *err)
{
    ms_status status = ms_json_get_string(value, name, err);
    if (status != MS_OK)
        return status;
    if (**name == '\0' || **name == '.' || strchr(*name, '/'))
        return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "expected the name of a file in the folder of the index");
    return MS_OK;
}

static ms_status read_files(ms_json_value map, ms_tensor_index *index, ms_error *err)
{
    ms_json_value value;
    uint32_t kept = 0;
    for (bool more = ms_json_first(map, &value); more; more = ms_json_next(&value)) {
        const char *name = NULL;
        ms_status status = read_name(value, &name, err);
        if (status != MS_OK)
            return status;
        if (!ms_vec_push(&index->files, name))
            return no_memory(err);
    }
    if (index->files.count == 0)
        return ms_json_fail(err, map, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "it names no tensor");
    const char **files = index->files.items;
    qsort((void *)files, index->files.count, sizeof *files, by_text);
    for (uint32_t i = 0; i < index->files.count; i++)
        if (kept == 0 || strcmp(files[kept - 1], files[i]) != 0)
            files[kept++] = files[i];
    index->files.count = kept;
    return MS_OK;
}

static ms_status read_tensors(ms_json_value map, ms_tensor_index *index, ms_error *err)
{
    ms_json_value value;
    for (bool more = ms_json_first(map, &value); more; more = ms_json_next(&value)) {
        const char *name = NULL;
        ms_status status = read_name(value, &name, err);
        if (status != MS_OK)
            return status;
        const char **found = bsearch((const void *)&name, (const void *)index->files.items,
                                     index->files.count, sizeof name, by_text);
        uint32_t file = found ? (uint32_t)(found - index->files.items) : UINT32_MAX;
        if (!ms_vec_push(&index->tensors, (ms_tensor_entry){ms_json_key(value), file}))
            return no_memory(err);
    }
    qsort(index->tensors.items, index->tensors.count, sizeof *index->tensors.items, by_tensor);
    return MS_OK;
}

static ms_status read_index(ms_tensor_index *index, ms_error *err)
{
    ms_json_value root = ms_json_root(index->document), map;
    ms_status status = ms_json_expect(root, MS_JSON_OBJECT, err);
    if (status == MS_OK)
        status = ms_json_get_member(root, "weight_map", &map, err);
    if (status != MS_OK)
        return status;
    status = ms_json_expect(map, MS_JSON_OBJECT, err);
    if (status == MS_OK)
        status = read_files(map, index, err);
    return status == MS_OK ? read_tensors(map, index, err) : status;
}

ms_status ms_tensor_index_read(const ms_json_source *source, ms_tensor_index *index, ms_error *err)
{
    *index = (ms_tensor_index){0};
    ms_status status = ms_json_parse(source, &index->document, err);
    if (status == MS_OK)
        status = read_index(index, err);
    if (status != MS_OK)
        ms_tensor_index_free(index);
    return status;
}

void ms_tensor_index_free(ms_tensor_index *index)
{
    ms_json_free(index->document);
    index->document = NULL;
    ms_vec_free(&index->files);
    ms_vec_free(&index->tensors);
}

uint32_t ms_tensor_index_find(const ms_tensor_index *index, const char *tensor)
{
    const ms_tensor_entry key = {.tensor = tensor};
    const ms_tensor_entry *found =
        index->tensors.count
            ? bsearch(&key, index->tensors.items, index->tensors.count, sizeof key, by_tensor)
            : NULL;
    return found ? found->file : UINT32_MAX;
}
