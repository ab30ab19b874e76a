/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/weights/tensor_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/json/read.h"
#include "base/json/value.h"
#include "base/vec.h"
#include "input/weights/plain_text.h"

/* ---- tensor index quick ---- */

enum {
    BLOCK_BYTES = 32 << 10,
    ENTRY_BYTES = 4 << 10, /* that must be there before an entry is read */
    MOST_FILES = 4096      /* of more, the strict reader sorts the names */
};

typedef struct reading {
    ms_plain s; /* in the block */
    const ms_quick_source *source;
    bool is_at_end; /* of the source */
    ms_arena *arena;
    ms_quick_index *index;
    char *block; /* of BLOCK_BYTES */
} reading;

/* Has the next entry in the block. */
static void refill(reading *r)
{
    size_t left = (size_t)(r->s.end - r->s.at);
    if (left >= ENTRY_BYTES || r->is_at_end)
        return;
    memmove(r->block, r->s.at, left);
    while (left < BLOCK_BYTES && !r->is_at_end) {
        size_t more = r->source->read(r->source->context, r->block + left, BLOCK_BYTES - left);
        r->is_at_end = more == 0;
        left += more;
    }
    r->s = (ms_plain){r->block, r->block + left};
}

static bool is_name_of(const ms_quick_file *f, const ms_plain_string *name)
{
    return strncmp(f->name, name->text, name->bytes) == 0 && f->name[name->bytes] == '\0';
}

/* That of the entry before, as a rule. NULL: the name is not for this reader. */
static ms_quick_file *find_file(reading *r, const ms_plain_string *name)
{
    ms_quick_index *index = r->index;
    ms_quick_file *files = index->files.items;
    if (index->files.count > 0 && is_name_of(&files[index->last], name))
        return &files[index->last];
    for (uint32_t i = 0; i < index->files.count; i++)
        if (is_name_of(&files[i], name)) {
            index->last = i;
            return &files[i];
        }
    bool is_good = name->bytes > 0 && *name->text != '.' && !memchr(name->text, '/', name->bytes) &&
                   index->files.count < MOST_FILES;
    const char *copy =
        is_good ? ms_arena_printf(r->arena, "%.*s", (int)name->bytes, name->text) : NULL;
    if (!copy || !ms_vec_push(&index->files, (ms_quick_file){copy, 0, 0}))
        return NULL;
    index->last = index->files.count - 1;
    return &index->files.items[index->last];
}

static bool take_place(reading *r)
{
    ms_plain_string tensor, name;
    if (!ms_plain_take_string(&r->s, &tensor) || !ms_plain_take_colon(&r->s) ||
        !ms_plain_take_string(&r->s, &name))
        return false;
    ms_quick_file *f = find_file(r, &name);
    if (!f)
        return false;
    f->tensors++;
    f->digests += tensor.digest;
    ms_plain_skip_blanks(&r->s);
    return true;
}

static bool take_map(reading *r)
{
    if (!MS_PLAIN_TAKE(&r->s, "{"))
        return false;
    ms_plain_skip_blanks(&r->s);
    while (take_place(r)) {
        if (MS_PLAIN_TAKE(&r->s, "}"))
            return true;
        if (!MS_PLAIN_TAKE(&r->s, ","))
            return false;
        refill(r);
        ms_plain_skip_blanks(&r->s);
    }
    return false;
}

/* A whole number or a string, as metadata has them. */
static bool skip_fact(ms_plain *s)
{
    ms_plain_string text;
    uint64_t count;
    return s->at < s->end && *s->at == '"' ? ms_plain_take_string(s, &text)
                                           : ms_plain_take_count(s, &count);
}

/* One member, the total size; of more, the strict reader compares names. */
static bool skip_metadata(ms_plain *s)
{
    ms_plain_string name;
    if (!MS_PLAIN_TAKE(s, "\"metadata\"") || !ms_plain_take_colon(s) || !MS_PLAIN_TAKE(s, "{"))
        return false;
    ms_plain_skip_blanks(s);
    if (!MS_PLAIN_TAKE(s, "}")) {
        if (!ms_plain_take_string(s, &name) || !ms_plain_take_colon(s) || !skip_fact(s))
            return false;
        ms_plain_skip_blanks(s);
        if (!MS_PLAIN_TAKE(s, "}"))
            return false;
    }
    ms_plain_skip_blanks(s);
    if (!MS_PLAIN_TAKE(s, ","))
        return false;
    ms_plain_skip_blanks(s);
    return true;
}

static bool take_index(reading *r)
{
    ms_plain *s = &r->s;
    refill(r);
    ms_plain_skip_blanks(s);
    if (!MS_PLAIN_TAKE(s, "{"))
        return false;
    ms_plain_skip_blanks(s);
    if (s->end - s->at > 1 && s->at[1] == 'm' && !skip_metadata(s))
        return false;
    if (!MS_PLAIN_TAKE(s, "\"weight_map\"") || !ms_plain_take_colon(s) || !take_map(r))
        return false;
    refill(r);
    ms_plain_skip_blanks(s);
    if (!MS_PLAIN_TAKE(s, "}"))
        return false;
    ms_plain_skip_blanks(s);
    return s->at == s->end && r->is_at_end;
}

bool ms_quick_index_read(ms_arena *arena, const ms_quick_source *source, ms_quick_index *index)
{
    reading r = {.source = source, .arena = arena, .index = index, .block = malloc(BLOCK_BYTES)};
    index->files.count = index->last = 0;
    r.s = (ms_plain){r.block, r.block};
    bool is_read = r.block && take_index(&r);
    free(r.block);
    return is_read;
}

void ms_quick_index_free(ms_quick_index *index)
{
    ms_vec_free(&index->files);
}

/* ---- tensor index ---- */

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
                                       "the file was truncated while its weights were in use", err);
    }
    return MS_OK;
}
