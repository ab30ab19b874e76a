/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/weights/stored_weights.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json/place.h"
#include "base/json/read.h"
#include "input/weights/plain_text.h"
#include "input/weights/safetensors.h"
#include "input/weights/tensor_files.h"

#define ENDING ".safetensors"

typedef struct reading {
    ms_arena *arena;
    const char *folder;
    const ms_stored_weights_reader *reader;
    ms_stored_weights *checkpoint;
    ms_header_file head;
    ms_quick_header quick;
    ms_digest_set names; /* of all files, where there is no index */
    const char *index_path;
    char *index_text; /* for the strict reader */
    ms_quick_index quick_index;
    ms_tensor_index index; /* the same by the strict reader, where it was asked */
    ms_error *err;
} reading;

static ms_status no_memory(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for files of weights");
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), cut = strlen(ending);
    return length > cut && strcmp(text + length - cut, ending) == 0;
}

/* ---- a file's tensors ---- */

static ms_status fail_tensor(const reading *r, const char *tensor, const char *before,
                             const char *after)
{
    ms_error_set(r->err, MS_ERR_CONFIG, "%s%.200s%s", before, tensor, after);
    ms_json_place_file(r->head.path, r->err);
    return MS_ERR_CONFIG;
}

static ms_status tell(reading *r, const ms_safetensor *t)
{
    r->checkpoint->tensors++;
    r->checkpoint->tensor_bytes += t->bytes;
    if (r->checkpoint->tensor_bytes > INT64_MAX)
        return fail_tensor(r, t->name, "with ", " the files have 2^63 bytes or more");
    return r->reader->read(r->reader->context, r->head.path, t, r->err);
}

/* Without an index a tensor may be in one file only. */
static ms_status enter(reading *r, const ms_safetensor *t)
{
    bool is_new;
    if (!ms_digest_set_add(&r->names, ms_plain_digest(t->name, strlen(t->name)), &is_new))
        return no_memory(r->err);
    return is_new ? MS_OK : fail_tensor(r, t->name, "the tensor ", " is also in another file");
}

/* What the index says of a file, tensor by tensor; those that it does not name are as good. */
static ms_status compare(reading *r, const ms_safetensors *s, uint32_t file)
{
    for (uint32_t i = 0; i < r->index.tensors.count; i++) {
        const ms_tensor_entry *e = &r->index.tensors.items[i];
        if (e->file == file && !ms_safetensors_find(s, e->tensor))
            return fail_tensor(r, e->tensor, "the index says that it has the tensor ",
                               ", but it does not");
    }
    for (uint32_t i = 0; i < s->tensors.count; i++) {
        const char *name = s->tensors.items[i].name;
        uint32_t other = ms_tensor_index_find(&r->index, name);
        if (other != file && other != UINT32_MAX)
            return fail_tensor(r, name, "the tensor ",
                               " belongs to another file, according to the index");
    }
    return MS_OK;
}

static ms_status open_index(reading *r)
{
    ms_json_source source;
    if (r->index.document)
        return MS_OK;
    ms_status status =
        ms_json_read(ms_arena_inputs(r->arena), r->index_path, &source, &r->index_text, r->err);
    return status == MS_OK ? ms_tensor_index_read(&source, &r->index, r->err) : status;
}

static uint32_t number_of(const ms_tensor_index *index, const char *name)
{
    uint32_t i = 0;
    while (i < index->files.count && strcmp(index->files.items[i], name) != 0)
        i++;
    return i;
}

/* With the strict reader, which says what is wrong. */
static ms_status read_strictly(reading *r, const char *indexed_as)
{
    ms_safetensors s;
    const ms_json_source source = ms_header_file_source(&r->head);
    ms_status status = ms_safetensors_read(&source, r->head.bytes, &s, r->err);
    if (status != MS_OK)
        return status;
    if (indexed_as)
        status = open_index(r);
    if (indexed_as && status == MS_OK)
        status = compare(r, &s, number_of(&r->index, indexed_as));
    for (uint32_t i = 0; i < s.tensors.count && status == MS_OK; i++) {
        status = indexed_as ? MS_OK : enter(r, &s.tensors.items[i]);
        if (status == MS_OK)
            status = tell(r, &s.tensors.items[i]);
    }
    ms_safetensors_free(&s);
    return status;
}

/* Whether they are what the index says; without one it is not asked. */
static bool is_as_indexed(const reading *r, const ms_quick_file *indexed)
{
    uint64_t digests = 0;
    for (uint32_t i = 0; i < r->quick.tensors.count; i++)
        digests += r->quick.tensors.items[i].digest;
    return r->quick.tensors.count == indexed->tensors && digests == indexed->digests;
}

/* `indexed`: what the quick reader saw of it in the index; `indexed_as`: its name there, or NULL.
 */
static ms_status read_file(reading *r, const char *path, const ms_quick_file *indexed,
                           const char *indexed_as)
{
    ms_status status =
        path ? ms_header_file_open(r->arena, path, &r->head, r->err) : no_memory(r->err);
    if (status != MS_OK)
        return status;
    r->checkpoint->files++;
    r->checkpoint->file_bytes += r->head.bytes;
    bool is_quick = (indexed || !indexed_as) &&
                    ms_quick_header_read(r->head.text, r->head.length, r->head.bytes, &r->quick);
    if (is_quick && indexed && !is_as_indexed(r, indexed)) {
        ms_header_file_close(&r->head); /* its text was changed: read again */
        status = ms_header_file_open(r->arena, path, &r->head, r->err);
        is_quick = false;
    }
    if (status == MS_OK && !is_quick)
        status = read_strictly(r, indexed_as);
    for (uint32_t i = 0; is_quick && i < r->quick.tensors.count && status == MS_OK; i++) {
        status = indexed ? MS_OK : enter(r, &r->quick.tensors.items[i]);
        if (status == MS_OK)
            status = tell(r, &r->quick.tensors.items[i]);
    }
    ms_header_file_close(&r->head);
    return status;
}

static const char *beside(const reading *r, const char *name)
{
    return ms_arena_printf(r->arena, "%s/%s", r->folder, name);
}

/* ---- an index ---- */

static ms_status read_quick_files(reading *r)
{
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < r->quick_index.files.count && status == MS_OK; i++) {
        const ms_quick_file *f = &r->quick_index.files.items[i];
        status = read_file(r, beside(r, f->name), f, f->name);
    }
    return status;
}

static size_t read_more(void *file, char *to, size_t room)
{
    return fread(to, 1, room, file);
}

static bool read_quick_index(reading *r)
{
    FILE *file = ms_file_open(ms_arena_inputs(r->arena), r->index_path, NULL);
    const ms_quick_source source = {read_more, file};
    bool is_read = file && ms_quick_index_read(r->arena, &source, &r->quick_index);
    ms_file_close(file);
    return is_read;
}

static ms_status read_index(reading *r, const char *path)
{
    r->index_path = path;
    if (!ms_file_is_pipe(path) && read_quick_index(r))
        return read_quick_files(r);
    ms_status status = open_index(r);
    for (uint32_t i = 0; i < r->index.files.count && status == MS_OK; i++)
        status = read_file(r, beside(r, r->index.files.items[i]), NULL, r->index.files.items[i]);
    return status;
}

/* ---- a folder ---- */

static bool is_file(const char *path)
{
    struct stat facts;
    return path && stat(path, &facts) == 0 && !S_ISDIR(facts.st_mode);
}

static bool is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* An adapter is no model's. */
static bool is_of_model(const char *name)
{
    static const char adapter[] = "adapter_";
    return name[0] != '.' && ends_with(name, ENDING) &&
           strncmp(name, adapter, sizeof adapter - 1) != 0;
}

static int by_text(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

static ms_status read_all(reading *r)
{
    ms_vec(const char *) paths = {0};
    ms_error reason = {.status = MS_OK};
    ms_status status = ms_inputs_admit(ms_arena_inputs(r->arena), r->folder, &reason);
    if (status != MS_OK)
        return ms_header_file_fail(r->folder, status, reason.text, r->err);
    DIR *folder = opendir(r->folder);
    const struct dirent *entry;
    if (!folder)
        return ms_header_file_fail(r->folder, MS_ERR_IO, strerror(errno), r->err);
    while (status == MS_OK && (entry = readdir(folder)) != NULL) {
        const char *path = is_of_model(entry->d_name) ? beside(r, entry->d_name) : "";
        if (!path || (*path && !ms_vec_push(&paths, path)))
            status = no_memory(r->err);
    }
    closedir(folder);
    if (paths.count > 0)
        qsort((void *)paths.items, paths.count, sizeof *paths.items, by_text);
    for (uint32_t i = 0; i < paths.count && status == MS_OK; i++)
        status = read_file(r, paths.items[i], NULL, NULL);
    ms_vec_free(&paths);
    return status;
}

static ms_status read_folder(reading *r)
{
    const char *index = beside(r, MS_WEIGHTS_INDEX), *one = beside(r, MS_WEIGHTS_FILE);
    if (!index || !one)
        return no_memory(r->err);
    if (is_file(index))
        return read_index(r, index);
    return is_file(one) ? read_file(r, one, NULL, NULL) : read_all(r);
}

bool ms_stored_weights_is_in(const char *path)
{
    bool has_one = false;
    const struct dirent *entry;
    DIR *folder = opendir(path);
    while (folder && !has_one && (entry = readdir(folder)) != NULL)
        has_one = is_of_model(entry->d_name) || strcmp(entry->d_name, MS_WEIGHTS_INDEX) == 0;
    if (folder)
        closedir(folder);
    return has_one;
}

bool ms_stored_weights_is_named(const char *path)
{
    return !is_folder(path) && (ends_with(path, ENDING) || ends_with(path, ENDING ".index.json"));
}

ms_status ms_stored_weights_read(ms_arena *arena, const char *path,
                                 const ms_stored_weights_reader *reader,
                                 ms_stored_weights *checkpoint, ms_error *err)
{
    reading r = {.arena = arena, .reader = reader, .checkpoint = checkpoint, .err = err};
    bool is_whole = is_folder(path);
    const char *slash = strrchr(path, '/');
    *checkpoint = (ms_stored_weights){0};
    r.folder = is_whole ? path
               : slash  ? ms_arena_printf(arena, "%.*s", (int)(slash - path), path)
                        : ".";
    ms_status status = !r.folder                        ? no_memory(err)
                       : is_whole                       ? read_folder(&r)
                       : ends_with(path, ".index.json") ? read_index(&r, path)
                                                        : read_file(&r, path, NULL, NULL);
    ms_header_file_free(&r.head);
    ms_quick_header_free(&r.quick);
    ms_digest_set_free(&r.names);
    ms_quick_index_free(&r.quick_index);
    ms_tensor_index_free(&r.index);
    free(r.index_text);
    return status;
}
