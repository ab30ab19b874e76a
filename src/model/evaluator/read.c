/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A text and what it imports become one: classes of a name replace each other, those that are like
 * another one have its fields and functions too. Then names are found.
 */
#include <string.h>

#include "model/evaluator/config/facts.h"
#include "model/evaluator/syntax/parser.h"
#include "model/evaluator/resolve.h"

typedef struct merge {
    ms_family_reading *reading;
    ms_family_text *text;
    const ms_family_library *library;
    uint32_t depth;
    const char *names[MS_FAMILY_IMPORTS]; /* of the texts that are being imported */
} merge;

static bool fail(merge *m, const ms_text_node *at, const char *what)
{
    ms_family_fail(m->reading, at, "%s", what);
    return false;
}

/* ---- copies: a class has its own fields and functions, whose names are found for it ---- */

static ms_text_node *copy_node(ms_family_reading *r, const ms_text_node *node)
{
    ms_text_node *copy = node ? ms_family_node(r, node->kind, node) : NULL;
    if (!copy)
        return NULL;
    *copy = *node;
    copy->items = ms_arena_array(r->arena, ms_text_node *, node->count + 1);
    for (uint32_t i = 0; copy->items && i < node->count; i++)
        copy->items[i] = copy_node(r, node->items[i]);
    if (!copy->items)
        ms_family_fail(r, NULL, "out of memory");
    return r->status == MS_OK ? copy : NULL;
}

static bool copy_block(ms_family_reading *r, const ms_text_block *block, ms_text_block *copy);

static ms_text_statement *copy_statement(ms_family_reading *r, const ms_text_statement *s)
{
    ms_text_statement *copy = ms_arena_array(r->arena, ms_text_statement, 1);
    if (!copy) {
        ms_family_fail(r, NULL, "out of memory");
        return NULL;
    }
    *copy = *s;
    for (uint32_t i = 0; i < MS_FAMILY_NAMES && s->targets[i]; i++)
        copy->targets[i] = copy_node(r, s->targets[i]);
    copy->value = copy_node(r, s->value);
    copy->body = copy->other = (ms_text_block){0};
    return copy_block(r, &s->body, &copy->body) && copy_block(r, &s->other, &copy->other) ? copy
                                                                                          : NULL;
}

static bool copy_block(ms_family_reading *r, const ms_text_block *block, ms_text_block *copy)
{
    for (uint32_t i = 0; i < block->count; i++)
        if (!ms_block_add(r, copy, copy_statement(r, block->items[i])))
            return false;
    return r->status == MS_OK;
}

/* ---- classes ---- */

static ms_family_class *class_of(const ms_family_text *text, const char *name, uint32_t *place)
{
    for (*place = 0; *place < text->class_count; ++*place)
        if (strcmp(text->classes[*place]->name, name) == 0)
            return text->classes[*place];
    return NULL;
}

static ms_family_class *new_class(merge *m, const ms_text_statement *s)
{
    ms_family_class *c = ms_arena_array(m->text->arena, ms_family_class, 1);
    if (!c)
        return NULL;
    c->name = s->text;
    c->place = s->place;
    c->fields = ms_arena_array(m->text->arena, ms_family_field, MS_FAMILY_FIELDS);
    c->functions = ms_arena_array(m->text->arena, ms_family_function, MS_FAMILY_FUNCTIONS);
    return c->fields && c->functions ? c : NULL;
}

/* Whether both call a row or a class of the same name: linear(...) and linear(...). */
static bool is_alike(const ms_text_node *a, const ms_text_node *b)
{
    return a->kind == MS_NODE_CALL && b->kind == MS_NODE_CALL && a->items[0]->text &&
           b->items[0]->text && strcmp(a->items[0]->text, b->items[0]->text) == 0;
}

static bool set_field(merge *m, ms_family_class *c, const ms_text_node *name, ms_text_node *value)
{
    uint32_t place = ms_class_field(c, name->text);
    if (name->file->is_users) {
        m->text->changes_modules = true;
        m->text->changes_blocks |=
            place == MS_FAMILY_FIELDS || !is_alike(c->fields[place].value, value);
    }
    if (place == MS_FAMILY_FIELDS)
        place = c->field_count;
    if (place == MS_FAMILY_FIELDS)
        return fail(m, name, "too many fields");
    c->fields[place] = (ms_family_field){name->text, value};
    c->field_count += place == c->field_count;
    return true;
}

/* The results of a function, by its return statements; 0: there is none. */
static bool count_results(merge *m, const ms_text_block *block, uint32_t *results)
{
    for (uint32_t i = 0; i < block->count; i++) {
        const ms_text_statement *s = block->items[i];
        const bool is_return = s->kind == MS_STATEMENT_RETURN;
        const uint32_t count = !is_return                        ? 0
                               : s->value->kind == MS_NODE_TUPLE ? s->value->count
                                                                 : 1;
        if (is_return && *results && *results != count)
            return fail(m, s->place, "functions return as many values in each place");
        if (count > MS_FAMILY_NAMES)
            return fail(m, s->place, "too many results");
        if (is_return)
            *results = count;
        if (!count_results(m, &s->body, results) || !count_results(m, &s->other, results))
            return false;
    }
    return true;
}

static bool read_parameters(merge *m, const ms_text_statement *s, bool has_self,
                            ms_family_function *f)
{
    if (has_self && (s->target_count == 0 || strcmp(s->targets[0]->text, "self") != 0))
        return fail(m, s->place, "the first parameter of a module's function must be self");
    for (uint32_t i = has_self; i < s->target_count; i++) {
        f->has_default[f->parameter_count] = s->defaults[i] != NULL;
        if (s->defaults[i] && s->defaults[i]->kind > MS_NODE_NONE)
            return fail(m, s->defaults[i],
                        "the default of a parameter is None, a number or a text");
        f->parameters[f->parameter_count++] = s->targets[i]->text;
    }
    return f->parameter_count > 0 || f->is_plain ||
           fail(m, s->place, "a function has a parameter beside self");
}

static bool set_function(merge *m, ms_family_class *c, const ms_text_statement *s, bool has_self)
{
    if (strcmp(s->text, "__init__") == 0)
        return fail(m, s->place,
                    "a class lists its modules as fields, NAME = linear(...), and has no __init__");
    ms_family_function f = {.name = s->text, .text = s, .owner = c};
    uint32_t place = 0;
    f.is_plain = !has_self || (strcmp(s->text, "forward") != 0 && strcmp(s->text, "stage") != 0 &&
                               (c != &m->text->root || strcmp(s->text, "encode") != 0));
    if (!read_parameters(m, s, has_self, &f) ||
        (!f.is_plain && !count_results(m, &s->body, &f.results)))
        return false;
    if (f.results == 0 && !f.is_plain)
        return fail(m, s->place, "a return statement is missing in this function");
    while (place < c->function_count && strcmp(c->functions[place].name, f.name) != 0)
        place++;
    if (place == MS_FAMILY_FUNCTIONS)
        return fail(m, s->place, "too many functions");
    c->functions[place] = f;
    m->text->changes_modules |= s->place->file->is_users;
    m->text->changes_blocks |= s->place->file->is_users;
    c->function_count += place == c->function_count;
    return true;
}

static bool inherit(merge *m, const ms_family_class *base, ms_family_class *c)
{
    c->role = base->role;
    c->is_group = base->is_group;
    c->is_tower = base->is_tower;
    for (uint32_t i = 0; i < base->field_count; i++) {
        ms_text_node *value = copy_node(m->reading, base->fields[i].value);
        c->fields[c->field_count++] = (ms_family_field){base->fields[i].name, value};
        if (!value)
            return false;
    }
    for (uint32_t i = 0; i < base->function_count; i++) {
        const ms_text_statement *s = copy_statement(m->reading, base->functions[i].text);
        if (!s || !set_function(m, c, s, true))
            return false;
    }
    return true;
}

static bool take_base(merge *m, const ms_text_node *name, ms_family_class *c)
{
    static const struct {
        const char *name;
        ms_family_role role;
    } roles[] = {{"decoder_layer", MS_ROLE_LAYER},
                 {"token_mixer", MS_ROLE_MIXER},
                 {"feed_forward", MS_ROLE_FEED_FORWARD},
                 {"tower_layer", MS_ROLE_TOWER_LAYER}};
    uint32_t place;
    ms_family_class *base = class_of(m->text, name->text, &place);
    if (base) {
        base->is_base = true;
        return inherit(m, base, c);
    }
    c->is_group = strcmp(name->text, "group") == 0;
    c->is_tower = strcmp(name->text, "tower") == 0;
    if (c->is_group || c->is_tower || strcmp(name->text, "Module") == 0) /* nn.Module */
        return true;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].name, name->text) == 0) {
            c->role = roles[i].role;
            return true;
        }
    return fail(m, name,
                "no class above has this name; decoder_layer, token_mixer, "
                "feed_forward, group, tower and tower_layer are memscope's own");
}

static bool read_class(merge *m, const ms_text_statement *s)
{
    uint32_t place;
    ms_family_class *c = new_class(m, s);
    if (!c)
        return fail(m, s->place, "out of memory");
    if (s->value && !take_base(m, s->value, c))
        return false;
    for (uint32_t i = 0; i < s->body.count; i++) {
        const ms_text_statement *inner = s->body.items[i];
        bool is_read = inner->kind == MS_STATEMENT_PASS;
        for (uint32_t k = 0; k < i && inner->kind == MS_STATEMENT_ASSIGN; k++)
            if (s->body.items[k]->kind == MS_STATEMENT_ASSIGN &&
                strcmp(s->body.items[k]->targets[0]->text, inner->targets[0]->text) == 0)
                return fail(m, inner->targets[0], "this field appears twice in the class");
        if (inner->kind == MS_STATEMENT_ASSIGN && inner->target_count == 1)
            is_read = set_field(m, c, inner->targets[0], inner->value);
        else if (inner->kind == MS_STATEMENT_DEF)
            is_read = set_function(m, c, inner, true);
        else if (!is_read)
            fail(m, inner->place, "a class has fields, NAME = ..., and functions");
        if (!is_read)
            return false;
    }
    (void)class_of(m->text, c->name, &place);
    if (place == MS_FAMILY_CLASSES_OF_TEXT)
        return fail(m, s->place, "too many classes");
    m->text->classes[place] = c;
    m->text->class_count += place == m->text->class_count;
    return true;
}

/* ---- the config ---- */

/* def slides(layer): return layer % 2 == 0; def derive(): ... */
static bool read_rule(merge *m, const ms_text_statement *s)
{
    if (strcmp(s->text, "derive") == 0) {
        m->text->derive = s->body;
        return s->target_count == 0 || fail(m, s->place, "derive() has no parameters");
    }
    size_t place = 0;
    while (place < MS_LAYER_RULES && strcmp(ms_layer_rules[place].name, s->text) != 0)
        place++;
    ms_family_function *f = ms_arena_array(m->text->arena, ms_family_function, 1);
    if (!f)
        return fail(m, s->place, "out of memory");
    if (place == MS_LAYER_RULES)
        return fail(m, s->place,
                    "a config has the rules slides(layer), is_sparse(layer), rotates(layer), "
                    "attends(layer), is_feed_forward(layer), has_sparse_gate(layer) and derive()");
    const bool is_rule = s->target_count == 1 && s->body.count == 1 &&
                         s->body.items[0]->kind == MS_STATEMENT_RETURN &&
                         s->body.items[0]->value->kind != MS_NODE_TUPLE;
    if (!is_rule)
        return fail(m, s->place, "a rule has one parameter, and returns one expression");
    *f = (ms_family_function){.name = s->text, .text = s, .parameter_count = 1};
    f->parameters[0] = s->targets[0]->text;
    m->text->rules[place] = f;
    return true;
}

/* The object of the file whose keys a class has: class config, class text_config;
 * MS_FAMILY_OBJECTS: there are too many. */
static uint32_t object_of(ms_family_text *text, const char *name)
{
    uint32_t i = MS_OBJECT_OTHER;
    if (strcmp(name, "config") == 0)
        return text->objects[MS_OBJECT_OF_TEXT].name ? MS_OBJECT_OF_FILE : MS_OBJECT_OF_TEXT;
    if (strcmp(name, "text_config") == 0)
        i = MS_OBJECT_OF_TEXT;
    while (i < MS_FAMILY_OBJECTS && text->objects[i].name &&
           strcmp(text->objects[i].name, name) != 0)
        i++;
    if (i < MS_FAMILY_OBJECTS)
        text->objects[i].name = name;
    return i;
}

/* A class that is like none has no keys of texts above. */
static void drop_keys(ms_family_text *text, uint32_t object)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < text->key_count; i++)
        if (text->keys[i].object != object)
            text->keys[count++] = text->keys[i];
    text->key_count = count;
    if (object != MS_OBJECT_OF_TEXT)
        return;
    text->own_keys = count > 0 ? text->own_keys : 0;
    text->checks.count = text->derive.count = text->derived_count = 0;
    memset(text->rules, 0, sizeof text->rules);
}

/* model_type = "llama", of an object */
static bool is_type(const ms_text_statement *s)
{
    return s->kind == MS_STATEMENT_ASSIGN && s->target_count == 1 &&
           strcmp(s->targets[0]->text, "model_type") == 0 && s->value->kind == MS_NODE_STRING;
}

static bool read_config(merge *m, const ms_text_statement *s)
{
    ms_resolver r = {.reading = m->reading, .text = m->text};
    uint32_t place = 0;
    const bool is_like =
        s->value && (strcmp(s->value->text, "config") == 0 || strcmp(s->value->text, s->text) == 0);
    if (s->value && !is_like)
        return fail(m, s->value,
                    "only class config(config) is known here, which keeps the keys of "
                    "the text that was imported");
    r.object = object_of(m->text, s->text);
    if (r.object == MS_FAMILY_OBJECTS)
        return fail(m, s->place, "too many objects of a config");
    if (!is_like)
        drop_keys(m->text, r.object);
    for (uint32_t i = 0; i < s->body.count; i++) {
        ms_text_statement *inner = s->body.items[i];
        bool is_read = inner->kind == MS_STATEMENT_PASS;
        if (inner->kind == MS_STATEMENT_ASSERT)
            is_read = ms_block_add(m->reading, &m->text->checks, inner);
        else if (inner->kind == MS_STATEMENT_DEF)
            is_read = read_rule(m, inner);
        else if (m->text->objects[r.object].name && is_type(inner))
            is_read = (m->text->objects[r.object].model_type = inner->value->text) != NULL;
        else if (inner->kind == MS_STATEMENT_ASSIGN || inner->kind == MS_STATEMENT_CALL)
            is_read = ms_family_key_read(&r, inner);
        else if (!is_read)
            fail(m, inner->place, "the config has keys, NAME = count(...), rules and checks");
        if (!is_read)
            return false;
    }
    return !class_of(m->text, s->text, &place);
}

/* ---- the file ---- */

static bool read_architectures(merge *m, const ms_text_node *table)
{
    static const struct {
        const char *name;
        ms_head_kind head;
    } heads[] = {{"causal_lm", MS_HEAD_CAUSAL_LM},     {"last_token", MS_HEAD_LAST_TOKEN},
                 {"first_token", MS_HEAD_FIRST_TOKEN}, {"each_token", MS_HEAD_EACH_TOKEN},
                 {"masked_lm", MS_HEAD_MASKED_LM},     {"pretraining", MS_HEAD_PRETRAINING},
                 {"target_lm", MS_HEAD_TARGET_LM}};
    if (table->kind != MS_NODE_TABLE || table->count == 0 || table->count / 2 >= MS_FAMILY_CLASSES)
        return fail(m, table, "expected up to five classes, {\"LlamaForCausalLM\": \"causal_lm\"}");
    memset(m->text->architectures, 0, sizeof m->text->architectures);
    for (uint32_t i = 0; i < table->count; i += 2) {
        const ms_text_node *name = table->items[i], *head = table->items[i + 1];
        size_t k = 0;
        while (k < sizeof heads / sizeof *heads && head->kind == MS_NODE_STRING &&
               strcmp(heads[k].name, head->text) != 0)
            k++;
        if (name->kind != MS_NODE_STRING || head->kind != MS_NODE_STRING ||
            k == sizeof heads / sizeof *heads)
            return fail(m, head,
                        "the head of a class is \"causal_lm\", \"last_token\", "
                        "\"first_token\", \"each_token\", \"masked_lm\", "
                        "\"pretraining\" or \"target_lm\"");
        m->text->architectures[i / 2] = (ms_model_class){name->text, heads[k].head};
    }
    return true;
}

static bool read_logits_factor(merge *m, const ms_text_node *value)
{
    const char *text = value->kind == MS_NODE_STRING ? value->text : "";
    m->text->multiplies_logits = strcmp(text, "multiplied") == 0;
    m->text->divides_logits = strcmp(text, "divided") == 0;
    return m->text->multiplies_logits || m->text->divides_logits ||
           fail(m, value, "logits_factor is \"multiplied\" or \"divided\", or is not given");
}

static bool read_router_loss(merge *m, const ms_text_node *value)
{
    m->text->balances_experts =
        value->kind == MS_NODE_STRING && strcmp(value->text, "balanced") == 0;
    return m->text->balances_experts ||
           fail(m, value, "router_loss is \"balanced\", or is not given");
}

static bool read_fixed(merge *m, const ms_text_node *value, const char *wanted, bool *is_set)
{
    *is_set = value->kind == MS_NODE_STRING && strcmp(value->text, wanted) == 0;
    return *is_set || fail(m, value, "this is \"fp32\" for logits_type, \"cast\" for head_input");
}

static bool read_assignment(merge *m, const ms_text_statement *s)
{
    const char *name = s->targets[0]->text;
    if (s->target_count > 1)
        return fail(m, s->targets[1], "only one name can be assigned here");
    if (strcmp(name, "architectures") == 0)
        return read_architectures(m, s->value);
    if (strcmp(name, "eager_softmax") == 0) {
        const char *type = s->value->kind == MS_NODE_STRING ? s->value->text : "";
        m->text->softmax_as_input = strcmp(type, "input") == 0;
        m->text->softmax_uncast = strcmp(type, "uncast") == 0;
        return m->text->softmax_as_input || m->text->softmax_uncast ||
               fail(m, s->value, "eager_softmax is \"input\" or \"uncast\", or is not given");
    }
    if (strcmp(name, "router_loss") == 0)
        return read_router_loss(m, s->value);
    if (strcmp(name, "logits_factor") == 0)
        return read_logits_factor(m, s->value);
    if (strcmp(name, "logits_type") == 0)
        return read_fixed(m, s->value, "fp32", &m->text->widens_logits);
    if (strcmp(name, "head_input") == 0)
        return read_fixed(m, s->value, "cast", &m->text->casts_for_head);
    if (strcmp(name, "known_as") == 0) {
        m->text->known_as = s->value;
        return s->value->kind == MS_NODE_STRING ||
               fail(m, s->value, "known_as is the model type of a family, as \"llama\"");
    }
    if (strcmp(name, "model_type") != 0)
        return set_field(m, &m->text->root, s->targets[0], s->value);
    if (s->value->kind != MS_NODE_STRING || !s->value->text[0])
        return fail(m, s->value, "the model type is a text, as \"llama\"");
    m->text->model_type = s->value->text;
    return true;
}

static bool read_file(merge *m, const ms_family_file *file);

static bool import(merge *m, const ms_text_statement *s)
{
    ms_family_file *file = ms_arena_array(m->text->arena, ms_family_file, 1);
    if (m->depth == MS_FAMILY_IMPORTS)
        return fail(m, s->place, "the texts import each other too deeply");
    for (uint32_t i = 0; i < m->depth; i++)
        if (strcmp(m->names[i], s->text) == 0)
            return fail(m, s->place, "this text imports itself");
    m->names[m->depth] = s->text;
    if (!file)
        return fail(m, s->place, "out of memory");
    if (!m->library->find(m->library, m->reading, s->text, file))
        return fail(m, s->place, "there is no family of this name to import");
    if (!m->text->like && m->depth == 0)
        m->text->like = s->text;
    m->depth++;
    const bool is_read = read_file(m, file);
    m->depth--;
    return is_read;
}

/* The facts of a text are its own: those of texts that it imports are theirs. */
static bool read_facts(merge *m, ms_text_statement *s)
{
    ms_family family = {0};
    ms_family_facts facts = {0};
    if (!ms_family_facts_read(m->reading, s, &family, &facts))
        return false;
    return m->depth > 0 || ms_block_add(m->reading, &m->text->facts, s);
}

/* config, text_config, vision_config, ... */
static bool is_config(const char *name)
{
    const size_t length = strlen(name);
    return strcmp(name, "config") == 0 || (length > 7 && strcmp(name + length - 7, "_config") == 0);
}

static bool read_statement(merge *m, ms_text_statement *s)
{
    switch ((int)s->kind) {
    case MS_STATEMENT_IMPORT:
        return import(m, s);
    case MS_STATEMENT_CLASS:
        if (ms_is_class_of_facts(s->text))
            return read_facts(m, s);
        return is_config(s->text) ? read_config(m, s) : read_class(m, s);
    case MS_STATEMENT_ASSIGN:
        return read_assignment(m, s);
    case MS_STATEMENT_PASS:
        return true;
    case MS_STATEMENT_DEF:
        /* of the class that the config names */
        if (strcmp(s->text, "forward") == 0 || strcmp(s->text, "encode") == 0)
            return set_function(m, &m->text->root, s, true);
        return set_function(m, &m->text->functions, s, false);
    default:
        return fail(m, s->place,
                    "a family may only have imports, classes, functions and NAME = ... here");
    }
}

static bool read_file(merge *m, const ms_family_file *file)
{
    ms_text_block block = {0};
    if (!ms_family_parse(m->reading, file, &block))
        return false;
    for (uint32_t i = 0; i < block.count; i++)
        if (!read_statement(m, block.items[i]))
            return false;
    return m->reading->status == MS_OK;
}

ms_family_text *ms_family_text_read(ms_family_reading *reading, const ms_family_file *file,
                                    const ms_family_library *library)
{
    ms_family_text *text = ms_arena_array(reading->arena, ms_family_text, 1);
    merge m = {.reading = reading, .text = text, .library = library};
    if (!text) {
        ms_family_fail(reading, NULL, "out of memory");
        return NULL;
    }
    text->arena = reading->arena;
    text->root.fields = ms_arena_array(reading->arena, ms_family_field, MS_FAMILY_FIELDS);
    text->root.functions = ms_arena_array(reading->arena, ms_family_function, MS_FAMILY_FUNCTIONS);
    text->functions.functions =
        ms_arena_array(reading->arena, ms_family_function, MS_FAMILY_FUNCTIONS);
    if (!text->root.fields || !text->root.functions || !text->functions.functions) {
        ms_family_fail(reading, NULL, "out of memory");
        return NULL;
    }
    return read_file(&m, file) && ms_family_text_resolve(reading, text, file) ? text : NULL;
}
