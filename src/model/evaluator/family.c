/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/embedded.h"
#include "base/json/read.h"
#include "input/config/model/family_facts.h"
#include "input/config/model/model_read.h"
#include "model/evaluator/evaluate.h"
#include "model/evaluator/config/facts.h"

/* ---- texts by name ---- */

typedef struct library {
    const char *folder;
} library;

ms_status ms_family_file_read(ms_arena *arena, const char *path, ms_family_file *file,
                              ms_error *err)
{
    char *text = NULL;
    ms_json_source source = {0};
    ms_status status = ms_json_read_within(ms_arena_inputs(arena), path, MS_FAMILY_TEXT_BYTES,
                                           &source, &text, err);
    if (status != MS_OK)
        return status;
    const char *name = ms_arena_strdup(arena, path);
    char *copy = ms_arena_alloc(arena, source.length + 1, 1);
    if (copy)
        memcpy(copy, source.text, source.length);
    free(text);
    *file = (ms_family_file){name, copy, source.length, true};
    return name && copy ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for a family");
}

static bool find_in_folder(const library *l, ms_family_reading *r, const char *name,
                           ms_family_file *file)
{
    ms_error ignored = {0};
    const char *path = ms_arena_printf(r->arena, "%s/%s.family", l->folder, name);
    return path && ms_family_file_read(r->arena, path, file, &ignored) == MS_OK;
}

/* The text of families/NAME.family; false: there is none, or out of memory. */
static bool find_built_in(ms_arena *arena, const char *name, ms_family_file *file)
{
    const ms_embedded *found = ms_embedded_family_find(name);
    if (!found)
        return false;
    *file = (ms_family_file){.name = ms_arena_printf(arena, "families/%s.family", name),
                             .text = found->text,
                             .bytes = found->length};
    return file->name;
}

/* A text of memscope's, or beside the one that asks. */
static bool find_text(const ms_family_library *l, ms_family_reading *r, const char *name,
                      ms_family_file *file)
{
    const library *own = l->own;
    return find_built_in(r->arena, name, file) ||
           (own->folder && !ms_embedded_family_find(name) && find_in_folder(own, r, name, file));
}

/* ---- families ---- */

static const ms_model_program program = {.build = ms_family_text_build,
                                         .forward = ms_family_text_forward};

static ms_key *rows_of(ms_arena *arena, const ms_family_text *text, uint32_t object, size_t *count)
{
    ms_key *rows = ms_arena_array(arena, ms_key, text->key_count);
    *count = 0;
    for (uint32_t i = 0; rows && i < text->key_count; i++)
        if (!text->keys[i].is_second && text->keys[i].object == object)
            rows[(*count)++] = text->keys[i].row;
    return rows;
}

/* Adds the facts that the text states to those that the family has; NULL after a failure. */
static ms_family_facts *state_facts(ms_arena *arena, const ms_family_text *text, ms_family *family,
                                    ms_error *err)
{
    ms_error own = {0};
    ms_family_reading reading = {.arena = arena, .err = err ? err : &own};
    ms_family_facts *facts = ms_arena_array(arena, ms_family_facts, 1);
    if (!facts) {
        ms_error_set(err, MS_ERR_NOMEM, "out of memory for a family");
        return NULL;
    }
    *facts = *ms_family_facts_of(family);
    family->facts = facts;
    for (uint32_t i = 0; i < text->facts.count; i++)
        if (!ms_family_facts_read(&reading, text->facts.items[i], family, facts))
            return NULL;
    return facts;
}

/* Keys of the file's objects beside the text model's. */
static bool add_objects(ms_arena *arena, const ms_family_text *text, ms_family *family)
{
    ms_key_table *tables = ms_arena_array(arena, ms_key_table, MS_FAMILY_OBJECTS);
    if (!tables)
        return false;
    if (!text->objects[MS_OBJECT_OF_TEXT].name)
        return true;
    family->object = text->objects[MS_OBJECT_OF_TEXT].name;
    family->object_type = text->objects[MS_OBJECT_OF_TEXT].model_type;
    family->more = tables;
    family->more_count = 0;
    for (uint32_t i = MS_OBJECT_OF_FILE; i < MS_FAMILY_OBJECTS; i++) {
        ms_key_table *table = &tables[family->more_count];
        table->object = text->objects[i].name;
        table->model_type = text->objects[i].model_type;
        table->keys = rows_of(arena, text, i, &table->key_count);
        if (!table->keys)
            return false;
        family->more_count += table->key_count > 0;
    }
    return true;
}

static bool has_rules(const ms_family_text *text)
{
    bool has_one = false;
    for (size_t i = 0; i < MS_LAYER_RULES; i++)
        has_one |= text->rules[i] != NULL;
    return has_one;
}

/* The family that it is like, or none, with what the text has. */
static ms_family *joined(ms_arena *arena, const ms_family *like, ms_family_text *text,
                         ms_error *err)
{
    ms_family *family = ms_arena_array(arena, ms_family, 1);
    size_t count;
    ms_key *rows = rows_of(arena, text, MS_OBJECT_OF_TEXT, &count);
    if (family && like)
        *family = *like;
    if (!family || !rows || !add_objects(arena, text, family)) {
        ms_error_set(err, MS_ERR_NOMEM, "out of memory for a family");
        return NULL;
    }
    family->model_type = text->model_type;
    memcpy(family->classes, text->architectures, sizeof family->classes);
    family->keys = rows;
    family->key_count = count;
    family->derive = ms_family_text_derive;
    family->check = ms_family_text_check;
    if (has_rules(text) || text->has_decoder)
        family->layer_kind = ms_family_text_kind;
    family->program = &program;
    family->stages = text->root.forward ? NULL : &ms_family_text_stages;
    family->text = text;
    return family;
}

static ms_family_text *read(ms_arena *arena, const ms_family_file *file, const char *folder,
                            ms_error *err)
{
    ms_error own = {0}; /* a failure needs one, also where nobody wants to know it */
    const library l = {folder};
    const ms_family_library texts = {find_text, &l};
    ms_family_reading reading = {.arena = arena, .err = err ? err : &own};
    return ms_family_text_read(&reading, file, &texts);
}

const ms_family *ms_family_read_text(ms_arena *arena, const ms_family *row, ms_error *err)
{
    if (!row->text_name || row->text)
        return row;
    ms_family_file *file = ms_arena_array(arena, ms_family_file, 1);
    if (!file || !find_built_in(arena, row->text_name, file)) {
        const bool is_there = ms_embedded_family_find(row->text_name);
        ms_error_set(err, is_there ? MS_ERR_NOMEM : MS_ERR_INTERNAL,
                     is_there ? "out of memory for a family" : "a family lacks its text");
        return NULL;
    }
    ms_family_text *text = read(arena, file, NULL, err);
    ms_family *family = text ? joined(arena, row, text, err) : NULL;
    return family && state_facts(arena, text, family, err) ? family : NULL;
}

/* What other programs know goes by the model type, of which they have lists: of another type they
 * know nothing, unless the text says that they take it for a family of theirs. */
static bool set_facts(ms_arena *arena, const ms_family_text *text, const ms_family_list *known,
                      ms_family *family, ms_error *err)
{
    const char *name = text->known_as ? text->known_as->text : NULL;
    const ms_family *row = ms_family_named(known, name);
    const ms_family *other = row ? ms_family_read_text(arena, row, err) : NULL;
    if (name && !row) {
        ms_error_set(err, MS_ERR_CONFIG,
                     "%.200s: known_as: no family '%.40s'; \"memscope models\" lists them",
                     family->user_text, name);
        return false;
    }
    if (row && !other)
        return false;
    ms_family_facts *facts = ms_arena_array(arena, ms_family_facts, 1);
    if (!facts) {
        ms_error_set(err, MS_ERR_NOMEM, "out of memory for a family");
        return false;
    }
    *facts = *ms_family_facts_of(family);
    const ms_family_facts none = {0}, *theirs = other ? ms_family_facts_of(other) : &none;
    facts->peft = theirs->peft;
    facts->liger = theirs->liger;
    /* Engines with programs of their own read the config alone: no module may differ. */
    const bool is_theirs =
        other && !text->changes_modules && ms_family_named(known, text->like) == row;
    facts->llama_cpp = is_theirs ? theirs->llama_cpp : NULL;
    facts->needs_gguf = is_theirs && theirs->needs_gguf;
    facts->vllm = is_theirs ? theirs->vllm : NULL;
    if (text->changes_blocks)
        facts->compared = facts->blocks = 0;
    family->facts = facts;
    return true;
}

const ms_family *ms_family_of_text(ms_arena *arena, const ms_family_file *file, const char *folder,
                                   const ms_family_list *known, ms_error *err)
{
    ms_family_text *text = read(arena, file, folder, err);
    if (!text)
        return NULL;
    const ms_family *row = ms_family_named(known, text->like);
    const ms_family *like = row ? ms_family_read_text(arena, row, err) : NULL;
    ms_family *family = row && !like ? NULL : joined(arena, like, text, err);
    if (!family)
        return NULL;
    family->user_text = file->name;
    family->takes_cache = family->takes_cache || !row;
    if (!set_facts(arena, text, known, family, err))
        return NULL;
    ms_family_facts *facts = state_facts(arena, text, family, err);
    /* Engines with programs of their own read the config alone: no module may differ, whatever the
     * text says. */
    if (facts && text->changes_modules) {
        facts->llama_cpp = NULL;
        facts->needs_gguf = false;
        facts->vllm = NULL;
    }
    return facts ? family : NULL;
}
