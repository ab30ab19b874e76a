/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/view/config_fields.h"

#include <inttypes.h>

#include "input/config/model/model_config.h"
#include "input/config/model/model_keys.h"
#include "decide/ledger/ledger.h"

typedef struct list {
    const ms_model_config *model;
    ms_arena *arena;
    const char *object; /* that the keys are in, or NULL */
    ms_field_list *fields;
} list;

static void add(list *l, const char *name, ms_field field)
{
    field.name = l->object ? ms_arena_printf(l->arena, "%s.%s", l->object, name) : name;
    field.group = MS_FIELD_MODEL;
    ms_field_list_add(l->fields, field);
}

static void add_text(list *l, const char *name, const char *text)
{
    add(l, name, (ms_field){.kind = MS_FIELD_TEXT, .text = text});
}

static const void *member(const list *l, const ms_key *key)
{
    return (const char *)l->model + key->offset;
}

static void add_count(list *l, const ms_key *key)
{
    uint64_t count = *(const uint64_t *)member(l, key);
    bool none = count == UINT64_MAX;
    add(l, key->name,
        (ms_field){.kind = none ? MS_FIELD_NULL : MS_FIELD_COUNT, .count = none ? 0 : count});
}

static void add_sides(list *l, const ms_key *key)
{
    const uint64_t *sides = member(l, key);
    add_text(l, key->name, ms_arena_printf(l->arena, "%" PRIu64 "x%" PRIu64, sides[0], sides[1]));
}

/* "0-4,6-10": the layers that have this flag, or that lack it; "none". */
static void add_layers(list *l, const char *name, uint8_t flag, bool wanted)
{
    uint32_t *layers = ms_arena_array(l->arena, uint32_t, l->model->num_layers), count = 0;
    for (uint32_t i = 0; layers && i < l->model->num_layers; i++)
        if (((ms_layer_kind(l->model, i) & flag) != 0) == wanted)
            layers[count++] = i;
    uint32_t length = count ? ms_layers_print(layers, count, NULL, 0) : 0;
    char *text = ms_arena_array(l->arena, char, (size_t)length + 8);
    if (text && count)
        ms_layers_print(layers, count, text, length + 1);
    else if (text)
        snprintf(text, 8, "none");
    add_text(l, name, layers ? text : NULL);
}

/* "M-*E": the letter of each layer. */
static void add_pattern(list *l, const char *name)
{
    char *text = ms_arena_array(l->arena, char, l->model->num_layers + 1);
    for (uint64_t i = 0; text && i < l->model->num_layers; i++)
        text[i] = ms_layer_pattern_letter(ms_layer_kind(l->model, i));
    add_text(l, name, text);
}

static void add_choice(list *l, const ms_key *key)
{
    const bool *given = (const bool *)((const char *)l->model + key->given_offset);
    if (key->given_offset && !*given)
        add(l, key->name, (ms_field){.kind = MS_FIELD_NULL});
    else
        add_text(l, key->name, key->choices[*(const bool *)member(l, key)]);
}

static void add_key(list *l, const ms_key *key)
{
    switch (key->kind) {
    case MS_KEY_COUNT:
    case MS_KEY_OPTIONAL:
        add_count(l, key);
        break;
    case MS_KEY_BOOL:
    case MS_KEY_IS_SET:
        add(l, key->name,
            (ms_field){.kind = MS_FIELD_BOOL, .count = *(const bool *)member(l, key)});
        break;
    case MS_KEY_FRACTION:
        add(l, key->name,
            (ms_field){.kind = MS_FIELD_NUMBER, .number = *(const double *)member(l, key)});
        break;
    case MS_KEY_INTEGER:
        add(l, key->name,
            (ms_field){.kind = MS_FIELD_NUMBER,
                       .number = (double)*(const int64_t *)member(l, key)});
        break;
    case MS_KEY_SIDES:
        add_sides(l, key);
        break;
    case MS_KEY_ACTIVATION:
        add_text(l, key->name, ms_activation_name(*(const ms_activation *)member(l, key)));
        break;
    case MS_KEY_CHOICE:
        add_choice(l, key);
        break;
    case MS_KEY_LAYER_TYPES:
        add_layers(l, key->name, key->choices[0] ? MS_LAYER_TOKEN_MIXER : MS_LAYER_SLIDES, true);
        break;
    case MS_KEY_ROTARY_LAYERS:
        add_layers(l, key->name, MS_LAYER_NO_ROTARY, false);
        break;
    case MS_KEY_DENSE_LAYERS:
        add_layers(l, key->name, MS_LAYER_SPARSE, false);
        break;
    case MS_KEY_SPARSE_LAYERS:
    case MS_KEY_MLP_TYPES:
        add_layers(l, key->name, MS_LAYER_SPARSE, true);
        break;
    case MS_KEY_LAYER_PATTERN:
        if (!key->is_other_spelling)
            add_pattern(l, key->name);
        break;
    case MS_KEY_SPARSE_GATES:
        add_layers(l, key->name, MS_LAYER_SPARSE_GATE, true);
        break;
    case MS_KEY_ROPE:
        add_text(l, key->name, l->model->long_rotary ? "longrope" : "any");
        break;
    case MS_KEY_NUMBERS:
    case MS_KEY_ATTENTION_LAYERS: /* given by layer_types */
    case MS_KEY_FIXED_BOOL:
    case MS_KEY_IGNORED:
        break;
    }
}

/* Whether the file has the table's object. */
static bool is_there(const list *l, const ms_key_table *table)
{
    return !l->model->family->may_lack_more || !table->object ||
           *(const uint64_t *)member(l, &table->keys[0]) > 0;
}

static void add_keys(list *l, const char *object, const ms_key *keys, size_t count)
{
    l->object = object;
    for (size_t i = 0; i < count; i++)
        add_key(l, &keys[i]);
}

/* The class that `architectures` names. */
static const char *class_of(const ms_model_config *model)
{
    const ms_model_class *classes = model->family->classes;
    for (int i = 0; i < MS_FAMILY_CLASSES && classes[i].name; i++)
        if (classes[i].head == model->head)
            return classes[i].name;
    return classes[0].name;
}

bool ms_config_fields(const ms_model_config *model, ms_arena *arena, ms_field_list *fields)
{
    list l = {.model = model, .arena = arena, .fields = fields};
    const ms_family *family = model->family;
    *fields = (ms_field_list){.arena = arena};
    add_text(&l, "model_type", model->model_type);
    if (class_of(model))
        add_text(&l, "architectures", class_of(model));
    add_keys(&l, family->object, family->keys, family->key_count);
    for (size_t i = 0; i < family->more_count; i++)
        if (is_there(&l, &family->more[i]))
            add_keys(&l, family->more[i].object, family->more[i].keys, family->more[i].key_count);
    return !fields->has_failed;
}
