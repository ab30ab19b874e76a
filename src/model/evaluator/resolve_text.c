/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"
#include "model/evaluator/primitive.h"
#include "model/evaluator/resolve.h"

static bool resolve_fields(ms_resolver *r, const ms_family_class *c)
{
    r->klass = c;
    for (uint32_t i = 0; i < c->field_count; i++)
        if (!ms_resolve_field(r, c->fields[i].value))
            return false;
    return true;
}

/* A function of memscope's may not fit what the user's text makes of its classes: that is said when
 * it is called, as it may be one that this family does not use. */
static bool resolve_function(ms_resolver *r, ms_family_function *f)
{
    ms_family_reading *reading = r->reading;
    ms_error *err = reading->err;
    if (f->text->place->file->is_users)
        return ms_resolve_function(r, f);
    ms_error *failure = ms_arena_array(reading->arena, ms_error, 1);
    reading->err = failure;
    const bool is_resolved = failure && ms_resolve_function(r, f);
    reading->err = err;
    if (!is_resolved && reading->status == MS_ERR_CONFIG) {
        f->failure = failure;
        r->function = NULL;
        reading->status = MS_OK;
        return true;
    }
    if (!is_resolved)
        ms_error_set(err, MS_ERR_NOMEM, "out of memory for a family");
    return is_resolved;
}

static bool resolve_functions(ms_resolver *r, ms_family_class *c)
{
    r->klass = c;
    for (uint32_t i = 0; i < c->function_count; i++)
        if (!resolve_function(r, &c->functions[i]))
            return false;
    c->forward = ms_class_find(c, "forward");
    c->stage = ms_class_find(c, "stage");
    if (c->stage && c->stage->failure)
        c->stage = NULL;
    c->encode = ms_class_find(c, "encode");
    c->init_weights = ms_class_find(c, "init_weights");
    return true;
}

/* ---- bounds ---- */

static bool measure(ms_family_reading *reading, const ms_family_class *klass,
                    const ms_text_node *at);

/* The modules that a field makes; 0 after a failure. */
static uint32_t size_of(ms_family_reading *reading, const ms_text_node *value)
{
    if (value->kind == MS_NODE_COMPREHENSION)
        return size_of(reading, value->items[0]);
    if (value->kind == MS_NODE_CHOICE) {
        const uint32_t first = size_of(reading, value->items[0]);
        const uint32_t second = first ? size_of(reading, value->items[2]) : 0;
        return second == 0 ? 0 : first > second ? first : second;
    }
    if (value->kind != MS_NODE_CLASS)
        return 1;
    return measure(reading, value->klass, value) ? value->klass->size : 0;
}

/* Finds the size of a class; false if it is too much, or without end. */
static bool measure(ms_family_reading *reading, const ms_family_class *const_class,
                    const ms_text_node *at)
{
    ms_family_class *c = (ms_family_class *)(uintptr_t)const_class;
    uint64_t size = 1;
    if (c->is_measured)
        return true;
    if (c->is_open) {
        ms_family_fail(reading, at, "a module of this class has itself as a part");
        return false;
    }
    c->is_open = true;
    at = at ? at : c->field_count ? c->fields[0].value : NULL;
    for (uint32_t i = 0; i < c->field_count; i++) {
        const uint32_t one = size_of(reading, c->fields[i].value);
        if (one == 0)
            return false;
        size += one;
    }
    c->is_open = false;
    c->is_measured = true;
    c->size = (uint32_t)size;
    if (size > MS_FAMILY_MODULES)
        ms_family_fail(reading, at, "a module has more than %d parts", MS_FAMILY_MODULES);
    return reading->status == MS_OK;
}

static bool fail_at_root(ms_family_reading *reading, const ms_family_file *file, const char *what)
{
    const ms_text_node place = {.file = file, .bytes = 1};
    ms_family_fail(reading, &place, "%s", what);
    return false;
}

/* What the path leads to: model.embed_tokens. NULL: there is none such. */
static const ms_text_node *at_path(const ms_family_text *text, const ms_text_node *path)
{
    const ms_family_class *in = &text->root;
    if (path->kind == MS_NODE_MEMBER) {
        const ms_text_node *outer = at_path(text, path->items[0]);
        in = outer && outer->kind == MS_NODE_CLASS ? outer->klass : NULL;
    } else if (path->kind != MS_NODE_NAME) {
        return NULL;
    }
    const uint32_t place = in ? ms_class_field(in, path->text) : MS_FAMILY_FIELDS;
    return place < MS_FAMILY_FIELDS ? in->fields[place].value : NULL;
}

/* Of a path that leads nowhere, the field that is not there is named. */
static void fail_head(ms_family_reading *reading, const ms_family_text *text,
                      const ms_text_node *path)
{
    char hint[128];
    const ms_text_node *outer = path->kind == MS_NODE_MEMBER ? at_path(text, path->items[0]) : NULL;
    const ms_family_class *in = outer && outer->kind == MS_NODE_CLASS ? outer->klass : NULL;
    if (!in || ms_class_field(in, path->text) < MS_FAMILY_FIELDS) {
        ms_family_fail(reading, path, "the head must follow the model and name its embedding");
        return;
    }
    ms_nearest near = ms_nearest_to(path->text);
    for (uint32_t i = 0; i < in->field_count; i++)
        ms_nearest_offer(&near, in->fields[i].name);
    ms_family_fail(reading, path, "%s has no field '%.40s'%s", in->name, path->text,
                   ms_nearest_hint(&near, hint, sizeof hint));
}

static bool resolve_head(ms_family_reading *reading, ms_family_text *text)
{
    const ms_text_node *path = text->root.fields[text->head_field].value->items[0];
    const ms_text_node *table = at_path(text, path);
    if (table && table->kind == MS_NODE_PRIMITIVE && table->primitive->shape == MS_SHAPE_ROWS &&
        text->head_field > text->model_field) {
        text->table = table;
        return true;
    }
    fail_head(reading, text, path);
    return false;
}

/* The ids, and nothing that may not be left out. */
static bool takes_ids(const ms_family_function *forward)
{
    bool takes = forward->parameter_count > 0;
    for (uint32_t i = 1; i < forward->parameter_count; i++)
        takes = takes && forward->has_default[i];
    return takes;
}

/* The model, and the head that reads what it yields. */
static bool resolve_root(ms_family_reading *reading, ms_family_text *text,
                         const ms_family_file *file)
{
    const ms_family_function *whole = ms_class_find(&text->root, "forward");
    text->model_field = text->head_field = MS_FAMILY_FIELDS;
    if (whole && (whole->parameter_count < 1 || whole->parameter_count > 2 || whole->results != 1))
        return fail_at_root(reading, file,
                            "forward gets the ids, and of an encoder with a decoder what `encode` "
                            "returned, and returns the loss");
    for (uint32_t i = 0; i < text->root.field_count; i++) {
        const ms_text_node *value = text->root.fields[i].value;
        if (value->kind == MS_NODE_CLASS && text->model_field == MS_FAMILY_FIELDS)
            text->model_field = i;
        if (value->kind == MS_NODE_PRIMITIVE && strcmp(value->primitive->name, "head") == 0)
            text->head_field = i;
    }
    if (whole)
        return text->head_field == MS_FAMILY_FIELDS || resolve_head(reading, text);
    if (text->model_field == MS_FAMILY_FIELDS || text->head_field == MS_FAMILY_FIELDS)
        return fail_at_root(reading, file,
                            "the model and its head are missing, as in "
                            "model = Model() and lm_head = head(model.embed_tokens)");
    const ms_family_class *model = text->root.fields[text->model_field].value->klass;
    const ms_family_function *forward = ms_class_find(model, "forward");
    if (!forward || !takes_ids(forward) || forward->results > 2)
        return fail_at_root(reading, file,
                            "the model's forward gets the ids, and returns the "
                            "hidden states, or a tuple of them and of features of images");
    return resolve_head(reading, text);
}

/* Without these there is no decoder: all else has a default. */
static bool has_keys(ms_family_reading *reading, const ms_family_text *text,
                     const ms_family_file *file)
{
    const bool has_decoder = text->has_decoder;
    const char *const names[] = {"vocab_size", "hidden_size", "num_attention_heads",
                                 has_decoder ? "num_encoder_layers" : "num_hidden_layers"};
    char what[80];
    const bool is_whole = ms_class_find(&text->root, "forward"); /* its ids may be pixels */
    for (size_t i = is_whole; i < sizeof names / sizeof *names; i++)
        if (!ms_family_key_find(text, names[i])) {
            snprintf(what, sizeof what, "the key %s is missing in class config", names[i]);
            return fail_at_root(reading, file, what);
        }
    return true;
}

static bool resolve_rule(ms_resolver *r, const ms_family_function *rule)
{
    if (!rule)
        return true;
    ms_text_node *value = rule->text->body.items[0]->value;
    r->rule = rule->parameters[0];
    const bool is_number = ms_resolve_number(r, value);
    r->rule = NULL;
    return is_number;
}

/* ---- what a user's text has for nothing ---- */

static bool fail_unused_class(ms_family_reading *reading, const ms_family_text *text,
                              const ms_family_class *unused)
{
    char hint[128];
    ms_nearest near = ms_nearest_to(unused->name);
    for (uint32_t i = 0; i < text->class_count; i++)
        if (text->classes[i] != unused)
            ms_nearest_offer(&near, text->classes[i]->name);
    ms_family_fail(reading, unused->place, "no field makes a module of the class '%.40s'%s",
                   unused->name, ms_nearest_hint(&near, hint, sizeof hint));
    return false;
}

static bool are_called(ms_family_reading *reading, const ms_family_class *c)
{
    static const char *const called[] = {"forward", "stage", "encode", "init_weights"};
    for (uint32_t i = 0; i < c->function_count; i++) {
        const ms_family_function *f = &c->functions[i];
        bool is_called = f->is_called || !f->text->place->file->is_users;
        ms_nearest near = ms_nearest_to(f->name);
        for (size_t k = 0; k < sizeof called / sizeof *called; k++) {
            is_called = is_called || strcmp(called[k], f->name) == 0;
            ms_nearest_offer(&near, called[k]);
        }
        char hint[128];
        if (!is_called) {
            ms_family_fail(reading, f->text->place, "nothing calls the function '%.40s'%s", f->name,
                           ms_nearest_hint(&near, hint, sizeof hint));
            return false;
        }
    }
    return true;
}

/* Whether a class has a field of the name that PEFT compares with the end of a module's name. */
static bool has_part(ms_family_reading *reading, const ms_family_text *text,
                     const ms_text_node *name)
{
    const char *dot = strrchr(name->text, '.'), *last = dot ? dot + 1 : name->text;
    char hint[128];
    ms_nearest near = ms_nearest_to(last);
    for (uint32_t i = 0; i < text->class_count; i++) {
        if (ms_class_field(text->classes[i], last) < MS_FAMILY_FIELDS)
            return true;
        for (uint32_t k = 0; k < text->classes[i]->field_count; k++)
            ms_nearest_offer(&near, text->classes[i]->fields[k].name);
    }
    ms_family_fail(reading, name, "no class has a field '%.40s'%s", last,
                   ms_nearest_hint(&near, hint, sizeof hint));
    return false;
}

/* The modules that adapters are said to have: lora = ["q_proj", "v_proj"]. */
static bool has_adapted_parts(ms_family_reading *reading, const ms_family_text *text)
{
    for (uint32_t i = 0; i < text->facts.count; i++) {
        const ms_text_statement *facts = text->facts.items[i];
        const bool is_checked = facts->place->file->is_users && strcmp(facts->text, "peft") == 0;
        for (uint32_t k = 0; is_checked && k < facts->body.count; k++) {
            const ms_text_statement *s = facts->body.items[k];
            const bool is_list = strcmp(s->targets[0]->text, "lora") == 0 ||
                                 strncmp(s->targets[0]->text, "ia3", 3) == 0;
            for (uint32_t n = 0; is_list && n < s->value->count; n++)
                if (!has_part(reading, text, s->value->items[n]))
                    return false;
        }
    }
    return true;
}

/* A name that is spelt wrongly must not leave in force what it was to replace. Follows the
 * measurement of the root, which goes through all classes that are used. */
static bool is_all_used(ms_family_reading *reading, const ms_family_text *text)
{
    for (uint32_t i = 0; i < text->class_count; i++) {
        const ms_family_class *c = text->classes[i];
        if (!c->is_measured && !c->is_base && c->place->file->is_users)
            return fail_unused_class(reading, text, c);
        if (!are_called(reading, c))
            return false;
    }
    return are_called(reading, &text->functions) && are_called(reading, &text->root) &&
           has_adapted_parts(reading, text);
}

bool ms_family_text_resolve(ms_family_reading *reading, ms_family_text *text,
                            const ms_family_file *file)
{
    ms_resolver r = {.reading = reading, .text = text};
    if (!text->model_type || !text->architectures[0].name)
        return fail_at_root(reading, file,
                            !text->model_type ? "the line model_type = \"...\" is missing"
                                              : "the line architectures = {...} is missing");
    text->has_decoder = ms_family_key_find(text, "num_decoder_layers") != NULL;
    if (!ms_config_rules_resolve(&r) || !has_keys(reading, text, file))
        return false;
    for (uint32_t i = 0; i < text->class_count; i++)
        if (!resolve_fields(&r, text->classes[i]))
            return false;
    if (!resolve_fields(&r, &text->root) || !resolve_root(reading, text, file))
        return false;
    for (uint32_t i = 0; i < text->class_count; i++)
        if (!resolve_functions(&r, text->classes[i]))
            return false;
    if (!resolve_functions(&r, &text->functions) || !resolve_functions(&r, &text->root))
        return false;
    if (!measure(reading, &text->root, NULL) || !is_all_used(reading, text))
        return false;
    for (uint32_t i = 0; i < text->class_count; i++)
        if (!measure(reading, text->classes[i], NULL))
            return false;
    r.klass = NULL;
    for (size_t i = 0; i < MS_LAYER_RULES; i++)
        if (!resolve_rule(&r, text->rules[i]))
            return false;
    return true;
}
