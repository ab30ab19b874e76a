/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/weights/tensor_files.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/json/read.h"

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for files of weights");
}

/* ---- a file ---- */

static ms_status map_file(ms_arena *arena, const char *path, ms_tensor_file *f, ms_error *err)
{
    ms_status status = ms_header_file_open(arena, path, &f->head, err);
    const ms_json_source source = ms_header_file_source(&f->head);
    if (status == MS_OK)
        status = ms_safetensors_read(&source, f->head.bytes, &f->tensors, err);
    if (status != MS_OK)
        return status;
    void *data = mmap(NULL, (size_t)f->head.bytes, PROT_READ, MAP_PRIVATE, fileno(f->head.file), 0);
    if (data == MAP_FAILED)
        return ms_header_file_fail(path, MS_ERR_IO, strerror(errno), err);
    f->data = data;
    return MS_OK;
}

static ms_status open_file(ms_arena *arena, const char *path, ms_tensor_files *files, ms_error *err)
{
    ms_tensor_file f = {.data = NULL};
    if (!path || !ms_vec_reserve(&files->files))
        return no_memory(err);
    ms_status status = map_file(arena, path, &f, err);
    (void)ms_vec_push(&files->files, f);
    return status;
}

/* ---- a folder ---- */

static ms_status open_index(ms_arena *arena, const char *path, ms_tensor_files *files,
                            ms_error *err)
{
    ms_json_source source;
    ms_status status =
        path ? ms_json_read(ms_arena_inputs(arena), path, &source, &files->index_text, err)
             : no_memory(err);
    if (status == MS_OK)
        status = ms_tensor_index_read(&source, &files->index, err);
    for (uint32_t i = 0; i < files->index.files.count && status == MS_OK; i++)
        status = open_file(
            arena, ms_arena_printf(arena, "%s/%s", files->path, files->index.files.items[i]), files,
            err);
    return status;
}

static ms_status open_folder(ms_arena *arena, ms_tensor_files *files, ms_error *err)
{
    const char *index = ms_arena_printf(arena, "%s/%s", files->path, MS_WEIGHTS_INDEX);
    const char *one = ms_arena_printf(arena, "%s/%s", files->path, MS_WEIGHTS_FILE);
    struct stat facts;
    if (!index || !one)
        return no_memory(err);
    if (stat(index, &facts) == 0)
        return open_index(arena, index, files, err);
    if (stat(one, &facts) == 0)
        return open_file(arena, one, files, err);
    return ms_header_file_fail(files->path, MS_ERR_IO,
                               "the folder has no " MS_WEIGHTS_FILE " and no " MS_WEIGHTS_INDEX,
                               err);
}

ms_status ms_tensor_files_open(ms_arena *arena, const char *path, ms_tensor_files *files,
                               ms_error *err)
{
    struct stat facts;
    *files = (ms_tensor_files){.path = ms_arena_strdup(arena, path)};
    bool is_folder = stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
    ms_status status = is_folder && files->path ? open_folder(arena, files, err)
                                                : open_file(arena, files->path, files, err);
    if (status != MS_OK)
        ms_tensor_files_close(files);
    return status;
}

void ms_tensor_files_close(ms_tensor_files *files)
{
    for (uint32_t i = 0; i < files->files.count; i++) {
        ms_tensor_file *f = &files->files.items[i];
        if (f->data)
            munmap((void *)(uintptr_t)f->data, (size_t)f->head.bytes);
        ms_safetensors_free(&f->tensors);
        ms_header_file_free(&f->head);
    }
    ms_vec_free(&files->files);
    ms_tensor_index_free(&files->index);
    free(files->index_text);
    files->index_text = NULL;
}

/* ---- tensors ---- */

bool ms_tensor_files_find(const ms_tensor_files *files, const char *name,
                          const ms_safetensor **tensor, const uint8_t **data)
{
    bool has_index = files->index.document != NULL;
    uint32_t file = has_index ? ms_tensor_index_find(&files->index, name) : 0;
    if (file >= files->files.count)
        return false;
    const ms_tensor_file *f = &files->files.items[file];
    *tensor = ms_safetensors_find(&f->tensors, name);
    if (*tensor)
        *data = f->data + (*tensor)->begin;
    return *tensor != NULL;
}

ms_status ms_tensor_files_check(const ms_tensor_files *files, ms_error *err)
{
    for (uint32_t i = 0; i < files->files.count; i++) {
        const ms_tensor_file *f = &files->files.items[i];
        struct stat facts;
        if (fstat(fileno(f->head.file), &facts) != 0 || (uint64_t)facts.st_size < f->head.bytes)
            return ms_header_file_fail(f->head.path, MS_ERR_IO,
                                       "it became shorter while its weights were in use", err);
    }
    return MS_OK;
}
