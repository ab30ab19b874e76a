/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "weights/tensor_files.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "json/place.h"
#include "json/read.h"

#define ONE_FILE "model.safetensors"
#define INDEX_FILE "model.safetensors.index.json"

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for files of weights");
}

static ms_status fail_file(const char *path, ms_status status, const char *why, ms_error *err)
{
    ms_error_set(err, status, "%s", why);
    ms_json_place_file(path, err);
    return status;
}

/* ---- a file ---- */

static ms_status read_bytes(const ms_tensor_file *f, void *to, uint64_t bytes, uint64_t at,
                            ms_error *err)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t more =
            pread(fileno(f->file), (char *)to + done, (size_t)(bytes - done), (off_t)(at + done));
        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            return fail_file(f->path, MS_ERR_IO, more < 0 ? strerror(errno) : "it became shorter",
                             err);
        done += (uint64_t)more;
    }
    return MS_OK;
}

static ms_status read_header(ms_tensor_file *f, ms_error *err)
{
    uint8_t first[MS_SAFETENSORS_LENGTH_BYTES];
    uint64_t length = 0;
    if (f->bytes < sizeof first)
        return fail_file(f->path, MS_ERR_CONFIG, "no safetensors file: it is too short", err);
    ms_status status = read_bytes(f, first, sizeof first, 0, err);
    if (status == MS_OK)
        status = ms_safetensors_length(f->path, first, f->bytes, &length, err);
    if (status != MS_OK)
        return status;
    f->header = malloc((size_t)length);
    if (!f->header)
        return no_memory(err);
    status = read_bytes(f, f->header, length, sizeof first, err);
    const ms_json_source source = {f->path, f->header, (size_t)length};
    return status == MS_OK ? ms_safetensors_read(&source, f->bytes, &f->tensors, err) : status;
}

static ms_status map_file(ms_tensor_file *f, ms_error *err)
{
    struct stat facts;
    if (fstat(fileno(f->file), &facts) != 0)
        return fail_file(f->path, MS_ERR_IO, strerror(errno), err);
    if (!S_ISREG(facts.st_mode) || facts.st_size <= 0)
        return fail_file(f->path, MS_ERR_CONFIG, "no safetensors file", err);
    f->bytes = (uint64_t)facts.st_size;
    ms_status status = read_header(f, err);
    if (status != MS_OK)
        return status;
    void *data = mmap(NULL, (size_t)f->bytes, PROT_READ, MAP_PRIVATE, fileno(f->file), 0);
    if (data == MAP_FAILED)
        return fail_file(f->path, MS_ERR_IO, strerror(errno), err);
    f->data = data;
    return MS_OK;
}

static ms_status open_file(ms_arena *arena, const char *path, ms_tensor_files *files, ms_error *err)
{
    ms_error reason = {0};
    struct stat facts;
    ms_tensor_file f = {.path = path};
    if (!path || !ms_vec_reserve(&files->files))
        return no_memory(err);
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) /* a pipe waits for a writer */
        return fail_file(path, MS_ERR_CONFIG, "no safetensors file", err);
    f.file = ms_file_open(ms_arena_inputs(arena), path, &reason);
    if (!f.file)
        return fail_file(path, reason.status, reason.text, err);
    ms_status status = map_file(&f, err);
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
    const char *index = ms_arena_printf(arena, "%s/%s", files->path, INDEX_FILE);
    const char *one = ms_arena_printf(arena, "%s/%s", files->path, ONE_FILE);
    struct stat facts;
    if (!index || !one)
        return no_memory(err);
    if (stat(index, &facts) == 0)
        return open_index(arena, index, files, err);
    if (stat(one, &facts) == 0)
        return open_file(arena, one, files, err);
    return fail_file(files->path, MS_ERR_IO, "the folder has no " ONE_FILE " and no " INDEX_FILE,
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
            munmap((void *)(uintptr_t)f->data, (size_t)f->bytes);
        ms_safetensors_free(&f->tensors);
        free(f->header);
        ms_file_close(f->file);
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
        if (fstat(fileno(f->file), &facts) != 0 || (uint64_t)facts.st_size < f->bytes)
            return fail_file(f->path, MS_ERR_IO, "it became shorter while its weights were in use",
                             err);
    }
    return MS_OK;
}
