/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/resolve.h"
#include "model/evaluator/config/known_names.h"

#include <string.h>

#include "input/config/model/model_keys.h"
#include "base/text/nearest.h"

/* ---- kinds of keys, as the text calls them ---- */

static const struct {
    const char *name;
    ms_key_kind kind;
    ms_member_type type;
    bool has_member, has_default;
} kinds[] = {
    {"count", MS_KEY_COUNT, MS_OF_COUNTS, true, true},
    {"sides", MS_KEY_SIDES, MS_OF_COUNTS, true, true},
    {"numbers", MS_KEY_NUMBERS, MS_OF_COUNTS, true, false},
    {"integer", MS_KEY_INTEGER, MS_OF_INTEGERS, true, true},
    {"flag", MS_KEY_BOOL, MS_OF_TRUTHS, true, true},
    {"fraction", MS_KEY_FRACTION, MS_OF_FRACTIONS, true, true},
    {"activation", MS_KEY_ACTIVATION, MS_OF_ACTIVATIONS, true, true},
    {"is_set", MS_KEY_IS_SET, MS_OF_TRUTHS, true, true},
    {"choice", MS_KEY_CHOICE, MS_OF_TRUTHS, true, true},
    {"only", MS_KEY_FIXED_BOOL, MS_OF_TRUTHS, false, true},
    {"layer_types", MS_KEY_LAYER_TYPES, MS_OF_COUNTS, false, false},
    {"layer_pattern", MS_KEY_LAYER_PATTERN, MS_OF_COUNTS, false, true},
    {"attention_layers", MS_KEY_ATTENTION_LAYERS, MS_OF_COUNTS, false, false},
    {"dense_layers", MS_KEY_DENSE_LAYERS, MS_OF_COUNTS, false, false},
    {"rotary_layers", MS_KEY_ROTARY_LAYERS, MS_OF_COUNTS, false, false},
    {"sparse_layers", MS_KEY_SPARSE_LAYERS, MS_OF_COUNTS, false, false},
    {"mlp_types", MS_KEY_MLP_TYPES, MS_OF_COUNTS, false, false},
    {"sparse_gates", MS_KEY_SPARSE_GATES, MS_OF_COUNTS, false, false},
    {"rope", MS_KEY_ROPE, MS_OF_COUNTS, false, false},
    {"ignored", MS_KEY_IGNORED, MS_OF_COUNTS, false, false},
};

enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

/* "vision_config"; NULL: the text model's object, the file itself, or none. */
static const char *object_name(const ms_family_text *text, uint32_t object)
{
    const bool is_other = object >= MS_OBJECT_OTHER && object < MS_FAMILY_OBJECTS;
    return is_other ? text->objects[object].name : NULL;
}

const ms_family_key *ms_family_key_find(const ms_family_text *text, const char *name)
{
    for (uint32_t i = 0; i < text->derived_count; i++)
        if (strcmp(text->derived[i].name, name) == 0)
            return &text->derived[i];
    for (uint32_t i = 0; i < text->key_count; i++)
        if (strcmp(text->keys[i].name, name) == 0 && text->keys[i].object < MS_OBJECT_OTHER)
            return &text->keys[i];
    return NULL;
}

const ms_family_key *ms_family_key_of(const ms_family_text *text, uint32_t object, const char *name)
{
    for (uint32_t i = 0; i < text->key_count; i++)
        if (strcmp(text->keys[i].name, name) == 0 && text->keys[i].object == object)
            return &text->keys[i];
    static const ms_family_key inner = {.name = "intermediate_size",
                                        .row = {.name = "hidden_size",
                                                .kind = MS_KEY_COUNT,
                                                .offset = MEMBER(vision.intermediate_size)},
                                        .dim = MS_FAMILY_DIM_NAMED,
                                        .symbol = "Iv",
                                        .object = MS_OBJECT_OTHER};
    const char *of = object_name(text, object);
    return of && strcmp(of, "vision_config") == 0 && strcmp(name, inner.name) == 0 ? &inner : NULL;
}

const ms_family_key *ms_family_key_always(const char *name)
{
    static const ms_family_key always[] = {
        {.name = "head_dim", /* hidden_size // num_attention_heads */
         .row = {.name = "hidden_size", .kind = MS_KEY_COUNT, .offset = MEMBER(head_dim)},
         .dim = MS_FAMILY_DIM_HEAD},
        {.name = "intermediate_size",
         .row = {.name = "hidden_size", .kind = MS_KEY_COUNT, .offset = MEMBER(intermediate_size)},
         .dim = MS_FAMILY_DIM_INTERMEDIATE},
        {.name = "num_labels",
         .row = {.name = "num_labels", .kind = MS_KEY_COUNT, .offset = MEMBER(num_labels)},
         .dim = MS_FAMILY_DIM_LABELS},
    };
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (strcmp(name, always[i].name) == 0)
            return &always[i];
    return NULL;
}

/* A key of no file, of those that memscope knows; NULL: it knows none, or there are too many. */
static const ms_family_key *add_derived(ms_family_text *text, const char *name)
{
    static const ms_key_kind kinds_of[] = {[MS_OF_COUNTS] = MS_KEY_COUNT,
                                           [MS_OF_TRUTHS] = MS_KEY_BOOL,
                                           [MS_OF_FRACTIONS] = MS_KEY_FRACTION,
                                           [MS_OF_ACTIVATIONS] = MS_KEY_ACTIVATION,
                                           [MS_OF_INTEGERS] = MS_KEY_INTEGER};
    const ms_known_name *known = ms_known_name_find(NULL, name);
    if (!known || text->derived_count == MS_FAMILY_DERIVED)
        return NULL;
    const ms_key row = {
        .name = known->name, .kind = kinds_of[known->type], .offset = known->offset};
    text->derived[text->derived_count] = (ms_family_key){
        .name = known->name, .row = row, .dim = known->dim, .symbol = known->symbol};
    return &text->derived[text->derived_count++];
}

bool ms_family_key_settable(ms_resolver *r, ms_text_node *target)
{
    target->key = ms_family_key_find(r->text, target->text);
    if (!target->key)
        target->key = add_derived(r->text, target->text);
    const ms_key_kind kind = target->key ? target->key->row.kind : MS_KEY_IGNORED;
    if (kind <= MS_KEY_BOOL || kind == MS_KEY_FRACTION || kind == MS_KEY_ACTIVATION)
        return true;
    ms_family_fail(r->reading, target,
                   "derive() sets keys of the text, or members that memscope knows");
    return false;
}

/* ---- defaults ---- */

static bool is_name_of(const ms_text_node *node, const char *name)
{
    return node->kind == MS_NODE_NAME && strcmp(node->text, name) == 0;
}

static bool is_number(const ms_text_node *node, double value)
{
    return node->kind == MS_NODE_NUMBER && !(node->number < value || node->number > value);
}

/* What a count is when it is absent, or null. */
static bool read_count(ms_resolver *r, const ms_text_node *node, ms_key *row, ms_default_kind *kind,
                       double *value)
{
    *kind = MS_DEFAULT_VALUE;
    *value = node->number;
    if (node->kind == MS_NODE_NUMBER)
        return true;
    if (node->kind == MS_NODE_NONE) {
        *value = -1; /* as no number */
        return true;
    }
    if (node->kind == MS_NODE_DIVIDE_WHOLE && is_name_of(node->items[0], "hidden_size") &&
        is_name_of(node->items[1], "num_attention_heads")) {
        *kind = MS_DEFAULT_HEAD_DIM;
        return true;
    }
    if (node->kind == MS_NODE_MULTIPLY && is_number(node->items[0], 4) &&
        is_name_of(node->items[1], "hidden_size")) {
        *kind = MS_DEFAULT_FOUR_HIDDEN;
        return true;
    }
    const ms_family_key *other =
        node->kind == MS_NODE_NAME ? ms_family_key_of(r->text, r->object, node->text) : NULL;
    if (other && other->row.kind <= MS_KEY_OPTIONAL) {
        *kind = MS_DEFAULT_SAME_AS;
        row->default_offset = other->row.offset;
        return true;
    }
    ms_family_fail(r->reading, node,
                   "a number, None, a count above, hidden_size // num_attention_heads or "
                   "expected 4 * hidden_size");
    return false;
}

bool ms_family_activation(ms_resolver *r, const ms_text_node *node, double *value)
{
    for (int i = 0; node->kind == MS_NODE_STRING && i < MS_ACTIVATION_COUNT; i++)
        if (strcmp(ms_activation_name((ms_activation)i), node->text) == 0) {
            *value = i;
            return true;
        }
    ms_family_fail(r->reading, node, "this activation is not known");
    return false;
}

/* A number, or a fraction above. */
static bool read_fraction(ms_resolver *r, const ms_text_node *node, ms_key *row)
{
    const ms_family_key *other =
        node->kind == MS_NODE_NAME ? ms_family_key_of(r->text, r->object, node->text) : NULL;
    row->default_value = node->number;
    if (node->kind == MS_NODE_NUMBER && node->number <= 1)
        return true;
    if (other && other->row.kind == MS_KEY_FRACTION) {
        row->default_kind = MS_DEFAULT_SAME_AS;
        row->default_offset = other->row.offset;
        return true;
    }
    ms_family_fail(r->reading, node, "expected a number from 0 to 1, or a fraction above");
    return false;
}

static bool is_negative(const ms_text_node *node)
{
    return node->kind == MS_NODE_NEGATIVE && node->items[0]->kind == MS_NODE_NUMBER;
}

static bool read_default(ms_resolver *r, const ms_text_node *node, ms_key *row)
{
    switch ((int)row->kind) {
    case MS_KEY_COUNT:
        row->may_be_minus_one = node->kind == MS_NODE_NEGATIVE && is_number(node->items[0], 1);
        row->default_value = -1; /* no bound */
        return row->may_be_minus_one ||
               read_count(r, node, row, &row->default_kind, &row->default_value);
    case MS_KEY_INTEGER:
        row->default_value = is_negative(node) ? -node->items[0]->number : node->number;
        if (node->kind == MS_NODE_NUMBER || is_negative(node))
            return true;
        ms_family_fail(r->reading, node, "expected a whole number");
        return false;
    case MS_KEY_SIDES:
        row->default_value = node->number;
        if (node->kind == MS_NODE_NUMBER)
            return true;
        ms_family_fail(r->reading, node, "expected a number of pixels");
        return false;
    case MS_KEY_ACTIVATION:
        return ms_family_activation(r, node, &row->default_value);
    case MS_KEY_FRACTION:
        return read_fraction(r, node, row);
    case MS_KEY_LAYER_PATTERN:
        row->default_value = node->number;
        if (node->kind == MS_NODE_NUMBER && node->number >= 1 && node->number <= MAX_LAYERS)
            return true;
        ms_family_fail(r->reading, node, "expected a number of layers");
        return false;
    default:
        row->default_value = node->number;
        if (node->kind == MS_NODE_TRUTH)
            return true;
        ms_family_fail(r->reading, node, "expected True or False");
        return false;
    }
}

/* ---- arguments ---- */

static bool read_null(ms_resolver *r, const ms_text_node *node, ms_key *row)
{
    double value = 0;
    const size_t other = row->default_offset;
    if (row->kind == MS_KEY_FRACTION && row->default_kind == MS_DEFAULT_SAME_AS) {
        row->null_kind = MS_DEFAULT_SAME_AS;
        if (read_fraction(r, node, row) && row->default_offset == other)
            return true;
        ms_family_fail(r->reading, node, "absent and null are the same fraction above");
        return false;
    }
    if (row->kind != MS_KEY_COUNT && row->kind != MS_KEY_OPTIONAL) {
        ms_family_fail(r->reading, node, "only a count may be null");
        return false;
    }
    row->kind = MS_KEY_OPTIONAL;
    if (!read_count(r, node, row, &row->null_kind, &value))
        return false;
    if (row->default_kind == MS_DEFAULT_SAME_AS && row->null_kind == MS_DEFAULT_SAME_AS &&
        row->default_offset != other) {
        ms_family_fail(r->reading, node, "absent and null are the same key, or numbers");
        return false;
    }
    row->null_value = value < 0 ? UINT64_MAX : (uint64_t)value;
    return true;
}

static bool read_keyword(ms_resolver *r, const ms_text_node *node, ms_key *row)
{
    const uint64_t most = row->maximum;
    if (strcmp(node->keyword, "null") == 0)
        return read_null(r, node, row);
    const bool is_count = node->kind == MS_NODE_NUMBER && node->number >= 0;
    if (strcmp(node->keyword, "least") == 0 && is_count) {
        row->minimum = (uint64_t)node->number;
        return true;
    }
    if (strcmp(node->keyword, "most") == 0 && is_count && node->number >= 1 &&
        node->number <= (double)most) {
        row->maximum = (uint64_t)node->number;
        return true;
    }
    if (strcmp(node->keyword, "symbol") == 0 && node->kind == MS_NODE_STRING)
        return true; /* ms_family_key_read() takes it */
    if (strcmp(node->keyword, "mixer") == 0 && node->kind == MS_NODE_STRING &&
        row->kind == MS_KEY_LAYER_TYPES) {
        row->choices[0] = node->text;
        return true;
    }
    if (strcmp(node->keyword, "window") == 0 && row->kind == MS_KEY_LAYER_TYPES &&
        node->kind == MS_NODE_STRING) {
        row->choices[1] = node->text; /* the type of layers with one */
        return true;
    }
    bool *truth = strcmp(node->keyword, "learned") == 0    ? &row->learned
                  : strcmp(node->keyword, "empty") == 0    ? &row->may_be_empty
                  : strcmp(node->keyword, "required") == 0 ? &row->required
                  : strcmp(node->keyword, "text") == 0     ? &row->may_be_text
                  : strcmp(node->keyword, "listed") == 0   ? &row->may_be_list
                                                           : NULL;
    if (truth && node->kind == MS_NODE_TRUTH) {
        *truth = node->number > 0;
        return true;
    }
    ms_family_fail(r->reading, node,
                   "a key takes null=, least=, most= (up to %llu), learned=True, required=True, "
                   "text=True, listed=True and symbol=, and layer_types() takes mixer=",
                   (unsigned long long)most);
    return false;
}

/* "n_embd", "hidden_size": the key in the file, and other spellings of it. */
static bool read_spelling(ms_resolver *r, const ms_text_node *node, ms_key *row, uint32_t *count)
{
    if (node->kind != MS_NODE_STRING || !node->text[0] || *count > 3) {
        ms_family_fail(r->reading, node, "expected spellings used in the file, at most four");
        return false;
    }
    if (*count == 0)
        row->name = node->text;
    else
        row->aliases[*count - 1] = node->text;
    ++*count;
    return true;
}

static bool read_arguments(ms_resolver *r, const ms_text_node *call, bool has_default, ms_key *row)
{
    uint32_t spellings = 0;
    /* Spellings stand before required=True, as Python has it: then there is no default. */
    const bool starts_with_default =
        call->count > 1 && !call->items[1]->keyword &&
        (row->kind != MS_KEY_COUNT || call->items[1]->kind != MS_NODE_STRING);
    bool is_required = false;
    for (uint32_t i = 1; i < call->count && !starts_with_default; i++)
        is_required |= call->items[i]->keyword && !strcmp(call->items[i]->keyword, "required");
    has_default = has_default && !is_required;
    if (has_default && (call->count < 2 || call->items[1]->keyword)) {
        ms_family_fail(r->reading, call, "expected the value that an absent key has");
        return false;
    }
    for (uint32_t i = 1; i < call->count; i++) {
        const ms_text_node *item = call->items[i];
        const bool is_read = i == 1 && has_default ? read_default(r, item, row)
                             : item->keyword       ? read_keyword(r, item, row)
                                                   : read_spelling(r, item, row, &spellings);
        if (!is_read)
            return false;
    }
    return true;
}

/* ---- rows ---- */

/* Where the value goes: a member of that name, or one of the text's own. */
static bool find_member(ms_resolver *r, const ms_text_node *name, ms_member_type type,
                        ms_family_key *key)
{
    const ms_known_name *known = ms_known_name_find(object_name(r->text, r->object), name->text);
    if (known) {
        key->row.offset = known->offset;
        key->row.maximum = known->most;
        key->dim = known->dim;
        if (!key->symbol)
            key->symbol = known->symbol;
        if (known->type != type)
            ms_family_fail(r->reading, name, "memscope knows '%s' as another kind of key",
                           name->text);
        return known->type == type;
    }
    const ms_family_key *same = ms_family_key_of(r->text, r->object, name->text);
    if (!same && r->text->own_keys == MS_OWN_KEYS) {
        ms_family_fail(r->reading, name, "a text may define at most %d keys", MS_OWN_KEYS);
        return false;
    }
    key->row.offset =
        same ? same->row.offset : MEMBER(own) + sizeof(uint64_t) * r->text->own_keys++;
    key->row.maximum = MAX_HIDDEN;
    key->dim = MS_FAMILY_DIM_OWN;
    return true;
}

/* A key replaces one of its name, unless one of both is ignored in the file and the other is
 * another key there: hidden_act = activation("silu", "hidden_activation") and
 * ignored("hidden_act"). */
static bool replaces(const ms_family_key *before, const ms_family_key *key)
{
    const bool was_ignored = before->row.kind == MS_KEY_IGNORED;
    const bool is_ignored = key->row.kind == MS_KEY_IGNORED;
    return strcmp(before->name, key->name) == 0 && before->object == key->object &&
           (was_ignored == is_ignored || strcmp(before->row.name, key->row.name) == 0);
}

static void drop_derived(ms_family_text *text, const char *name)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < text->derived_count; i++)
        if (strcmp(text->derived[i].name, name) != 0)
            text->derived[kept++] = text->derived[i];
    text->derived_count = kept;
}

static bool add_key(ms_resolver *r, const ms_text_node *at, const ms_family_key *key)
{
    ms_family_text *text = r->text;
    drop_derived(text, key->name);
    for (uint32_t i = 0; i < text->key_count; i++)
        if (replaces(&text->keys[i], key)) {
            text->keys[i] = *key;
            return true;
        }
    if (text->key_count == MS_FAMILY_KEYS) {
        ms_family_fail(r->reading, at, "no more than %d keys", MS_FAMILY_KEYS);
        return false;
    }
    text->keys[text->key_count++] = *key;
    return true;
}

/* ignored("a", "b") */
static bool read_ignored(ms_resolver *r, const ms_text_node *call)
{
    for (uint32_t i = 1; i < call->count; i++) {
        const char *name = call->items[i]->text;
        const ms_family_key key = {.name = name,
                                   .row = {.name = name, .kind = MS_KEY_IGNORED},
                                   .object = (uint8_t)r->object};
        if (call->items[i]->kind != MS_NODE_STRING) {
            ms_family_fail(r->reading, call->items[i], "expected the name of a key");
            return false;
        }
        if (!add_key(r, call->items[i], &key))
            return false;
    }
    return true;
}

static bool fail_kind(ms_resolver *r, const ms_text_node *node)
{
    char hint[128];
    ms_nearest near = ms_nearest_to(node->kind == MS_NODE_NAME ? node->text : "");
    for (size_t i = 0; i < KIND_COUNT; i++)
        ms_nearest_offer(&near, kinds[i].name);
    ms_family_fail(r->reading, node, "no kind of key has this name (docs/families.md lists them)%s",
                   ms_nearest_hint(&near, hint, sizeof hint));
    return false;
}

/* Sizes and counts that other figures are divided by. */
static bool is_size(const ms_family_key *key)
{
    return (key->dim != MS_FAMILY_DIM_OWN && key->dim != MS_FAMILY_DIM_NUMBER &&
            key->dim != MS_FAMILY_DIM_ROTARY && key->dim != MS_FAMILY_DIM_QUERY_RANK &&
            key->dim != MS_FAMILY_DIM_EXPERTS) ||
           key->row.offset == MEMBER(num_layers) || key->row.offset == MEMBER(encoder_layers) ||
           key->row.offset == MEMBER(decoder_layers);
}

/* num_experts = count(0, null=0): there may be none. */
static bool may_have_none(const ms_family_key *key)
{
    const bool is_of_experts = key->dim == MS_FAMILY_DIM_EXPERTS ||
                               key->dim == MS_FAMILY_DIM_CHOSEN || key->dim == MS_FAMILY_DIM_EXPERT;
    return is_of_experts && key->row.default_kind == MS_DEFAULT_VALUE &&
           key->row.default_value >= 0 && key->row.default_value < 1;
}

static bool has_size(const ms_key *row)
{
    const bool default_is_size =
        row->required || row->default_kind != MS_DEFAULT_VALUE || row->default_value >= 1;
    const bool null_is_size = row->kind != MS_KEY_OPTIONAL || row->null_kind != MS_DEFAULT_VALUE ||
                              (row->null_value >= 1 && row->null_value <= row->maximum);
    return default_is_size && null_is_size &&
           (row->default_kind != MS_DEFAULT_VALUE || row->default_value <= (double)row->maximum);
}

/* choice("cls", "mean", "classifier_pooling"): true for the second word; null=None: or null. */
static bool read_choice(ms_resolver *r, ms_text_node *call, ms_key *row)
{
    uint32_t spellings = 0;
    const ms_text_node *last = call->items[call->count - 1];
    row->may_be_null =
        last->kind == MS_NODE_NONE && last->keyword && !strcmp(last->keyword, "null");
    call->count -= row->may_be_null;
    bool is_right = call->count >= 3;
    for (uint32_t i = 1; i < call->count && is_right; i++)
        is_right = call->items[i]->kind == MS_NODE_STRING && !call->items[i]->keyword;
    if (!is_right) {
        ms_family_fail(r->reading, call, "expected two words and spellings of the key");
        return false;
    }
    if (row->may_be_null && row->offset == MEMBER(sees_all))
        row->given_offset = MEMBER(sees_ahead);
    row->choices[0] = call->items[1]->text;
    row->choices[1] = call->items[2]->text;
    for (uint32_t i = 3; i < call->count; i++)
        if (!read_spelling(r, call->items[i], row, &spellings))
            return false;
    return true;
}

/* intermediate_size = derived(expand * hidden_size): a size that the file does not have, or that
 * takes the place of the one it has. */
static bool read_derived(ms_resolver *r, const ms_text_statement *s)
{
    const ms_text_node *call = s->value, *name = s->targets[0];
    ms_family_text *text = r->text;
    ms_family_key key = {.name = name->text, .row = {.name = name->text, .kind = MS_KEY_COUNT}};
    const ms_text_node *symbol = call->count > 2 ? call->items[2] : NULL;
    if (call->count < 2 || call->count > 3 || call->items[1]->keyword || s->target_count != 1 ||
        (symbol && (!symbol->keyword || strcmp(symbol->keyword, "symbol") != 0 ||
                    symbol->kind != MS_NODE_STRING))) {
        ms_family_fail(r->reading, call, "expected NAME = derived(EXPRESSION, symbol=\"N\")");
        return false;
    }
    key.symbol = symbol ? symbol->text : NULL;
    key.value = call->items[1];
    drop_derived(text, key.name);
    if (text->derived_count == MS_FAMILY_DERIVED) {
        ms_family_fail(r->reading, name, "no more than %d sizes", MS_FAMILY_DERIVED);
        return false;
    }
    if (!find_member(r, name, MS_OF_COUNTS, &key))
        return false;
    text->derived[text->derived_count++] = key;
    return true;
}

static const char *symbol_of(const ms_text_node *call)
{
    for (uint32_t i = 1; i < call->count; i++)
        if (call->items[i]->keyword && strcmp(call->items[i]->keyword, "symbol") == 0)
            return call->items[i]->text;
    return NULL;
}

/* numbers("fullatt_block_indexes", 7, 15): the key in the file, and the numbers without it. */
static bool read_numbers(ms_resolver *r, const ms_text_node *call, ms_key *row)
{
    uint32_t spellings = 0;
    for (uint32_t i = 1; i < call->count; i++) {
        const ms_text_node *item = call->items[i];
        if (i == 1 ? !read_spelling(r, item, row, &spellings)
                   : item->kind != MS_NODE_NUMBER || item->number >= 53) {
            ms_family_fail(r->reading, item, "expected a spelling and numbers below 53");
            return false;
        }
        row->default_value += i == 1 ? 0 : (double)(UINT64_C(1) << (uint64_t)item->number);
    }
    return true;
}

bool ms_family_key_read(ms_resolver *r, const ms_text_statement *s)
{
    ms_text_node *call = s->value;
    const ms_text_node *name = call->kind == MS_NODE_CALL ? call->items[0] : call;
    size_t i = 0;
    if (call->kind == MS_NODE_CALL && s->kind == MS_STATEMENT_ASSIGN && is_name_of(name, "derived"))
        return read_derived(r, s);
    while (i < KIND_COUNT && !is_name_of(name, kinds[i].name))
        i++;
    if (call->kind != MS_NODE_CALL || i == KIND_COUNT)
        return fail_kind(r, name);
    if (s->kind == MS_STATEMENT_CALL)
        return kinds[i].kind == MS_KEY_IGNORED ? read_ignored(r, call) : fail_kind(r, name);
    ms_family_key key = {.name = s->targets[0]->text,
                         .object = (uint8_t)r->object,
                         .row = {.name = s->targets[0]->text, .kind = kinds[i].kind, .minimum = 1},
                         .symbol = symbol_of(call)};
    const bool has_sides = key.row.kind == MS_KEY_SIDES;
    if (s->target_count != (has_sides ? 2 : 1)) {
        ms_family_fail(r->reading, s->targets[s->target_count - 1],
                       has_sides ? "expected two names: height and width" : "a key has one name");
        return false;
    }
    if (kinds[i].has_member && !find_member(r, s->targets[0], kinds[i].type, &key))
        return false;
    const bool is_read = key.row.kind == MS_KEY_CHOICE ? read_choice(r, call, &key.row)
                         : key.row.kind == MS_KEY_NUMBERS
                             ? read_numbers(r, call, &key.row)
                             : read_arguments(r, call, kinds[i].has_default, &key.row);
    if (!is_read)
        return false;
    if (key.row.kind == MS_KEY_LAYER_PATTERN) { /* a list, or a text of letters beside it */
        key.row.offset = MEMBER(num_layers);
        key.row.maximum = MAX_LAYERS;
        key.row.is_other_spelling = strcmp(key.name, "num_hidden_layers") != 0;
    }
    if (is_size(&key) && !may_have_none(&key) && (key.row.minimum < 1 || !has_size(&key.row))) {
        ms_family_fail(r->reading, call, "this is at least 1");
        return false;
    }
    if (!add_key(r, s->targets[0], &key) || !has_sides)
        return r->reading->status == MS_OK;
    key.name = s->targets[1]->text;
    key.row.offset += sizeof(uint64_t);
    key.is_second = true;
    return add_key(r, s->targets[1], &key);
}
