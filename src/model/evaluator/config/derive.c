/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What class config says across keys: checks, assert CONDITION, f"a sentence with {keys}", and
 * def derive(), which sets members from others before they are checked.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/locale.h"
#include "input/config/model/model_config.h"
#include "model/evaluator/family.h"
#include "model/evaluator/primitive.h"
#include "model/evaluator/resolve.h"
#include "model/evaluator/syntax/parser.h"

/* ---- names ---- */

/* A key by its name, NAME or vision_config.NAME. */
static ms_text_node *key_named(ms_family_reading *r, const ms_text_node *at, const char *name,
                               size_t bytes)
{
    const char *point = memchr(name, '.', bytes);
    const size_t first = point ? (size_t)(point - name) : bytes;
    ms_text_node *key = ms_family_node(r, point ? MS_NODE_MEMBER : MS_NODE_NAME, at);
    if (!key)
        return NULL;
    key->text = ms_arena_printf(r->arena, "%.*s", (int)(bytes - (point ? first + 1 : 0)),
                                point ? point + 1 : name);
    if (point && !ms_node_add(r, key, key_named(r, at, name, first)))
        return NULL;
    return key->text ? key : NULL;
}

/* The names in the braces of a message become its items. */
static bool resolve_message(ms_resolver *r, ms_text_node *message)
{
    if (message->kind != MS_NODE_STRING) {
        ms_family_fail(r->reading, message, "the message of a check is a text");
        return false;
    }
    const char *brace = message->is_format ? strchr(message->text, '{') : NULL;
    for (; brace; brace = strchr(brace + 1, '{')) {
        ms_text_node *key = key_named(r->reading, message, brace + 1, strcspn(brace + 1, "}"));
        if (!key || !ms_resolve_number(r, key) || !ms_node_add(r->reading, message, key))
            return false;
    }
    return true;
}

static bool resolve_check(ms_resolver *r, const ms_text_statement *s)
{
    return ms_resolve_number(r, s->value) && (!s->message || resolve_message(r, s->message));
}

/* KEY = EXPRESSION; an activation is set by its name. */
static bool resolve_setting(ms_resolver *r, const ms_text_statement *s)
{
    if (!ms_family_key_settable(r, s->targets[0]))
        return false;
    if (s->targets[0]->key->row.kind != MS_KEY_ACTIVATION)
        return ms_resolve_number(r, s->value);
    return ms_family_activation(r, s->value, &s->value->number);
}

static bool resolve_block(ms_resolver *r, const ms_text_block *block)
{
    for (uint32_t i = 0; i < block->count; i++) {
        const ms_text_statement *s = block->items[i];
        bool is_resolved = s->kind == MS_STATEMENT_PASS;
        if (s->kind == MS_STATEMENT_ASSERT)
            is_resolved = resolve_check(r, s);
        else if (s->kind == MS_STATEMENT_IF)
            is_resolved = ms_resolve_number(r, s->value) && resolve_block(r, &s->body) &&
                          resolve_block(r, &s->other);
        else if (s->kind == MS_STATEMENT_ASSIGN && s->target_count == 1)
            is_resolved = resolve_setting(r, s);
        else if (!is_resolved)
            ms_family_fail(r->reading, s->place,
                           "derive() may only have lines KEY = ..., if and assert");
        if (!is_resolved)
            return false;
    }
    return true;
}

bool ms_config_rules_resolve(ms_resolver *r)
{
    for (uint32_t i = 0; i < r->text->derived_count; i++)
        if (r->text->derived[i].value && !ms_resolve_number(r, r->text->derived[i].value))
            return false;
    for (uint32_t i = 0; i < r->text->checks.count; i++)
        if (!resolve_check(r, r->text->checks.items[i]))
            return false;
    return resolve_block(r, &r->text->derive);
}

/* ---- checks ---- */

/* The first key that an expression names; NULL: none. */
const ms_family_key *ms_family_key_in(const ms_text_node *node)
{
    if (!node)
        return NULL;
    if (node->kind == MS_NODE_KEY)
        return node->key;
    const ms_family_key *key = NULL;
    for (uint32_t i = 0; i < node->count && !key; i++)
        key = ms_family_key_in(node->items[i]);
    return key;
}

/* The message with numbers in place of keys. */
static void write_message(const ms_text_facts *facts, const ms_text_node *message, char *out,
                          size_t size)
{
    const char *from = message->text;
    size_t used = 0;
    for (uint32_t i = 0; i < message->count; i++) {
        const size_t plain = strcspn(from, "{");
        const double number = ms_family_number(facts, message->items[i]);
        const int bytes =
            ms_text_print(out + used, size - used, "%.*s%.15g", (int)plain, from, number);
        used += bytes > 0 && (size_t)bytes < size - used ? (size_t)bytes : 0;
        from += plain + strcspn(from + plain, "}");
        from += *from != '\0';
    }
    snprintf(out + used, size - used, "%s", from);
}

static ms_status check(const ms_text_facts *facts, const ms_text_statement *s, ms_error *err)
{
    char message[400] = "a check fails", place[120] = "";
    if (ms_family_truth(facts, s->value))
        return MS_OK;
    const ms_family_key *key = ms_family_key_in(s->message);
    if (!key)
        key = ms_family_key_in(s->value);
    if (s->message)
        write_message(facts, s->message, message, sizeof message);
    if (s->place->file->is_users)
        snprintf(place, sizeof place, " (%.80s:%" PRIu32 ")", s->place->file->name,
                 ms_family_line(s->place));
    const char *object = key && key->object >= MS_OBJECT_OTHER
                             ? facts->config->family->text->objects[key->object].name
                             : NULL;
    if (key && err && err->status == MS_OK)
        snprintf(err->pointer, sizeof err->pointer, "/%.60s%s%.100s", object ? object : "",
                 object ? "/" : "", key->row.name);
    return ms_fail(err, MS_ERR_CONFIG, "%s%s", message, place);
}

ms_status ms_config_rules_check(const ms_model_config *config, ms_error *err)
{
    const ms_text_block *checks = &config->family->text->checks;
    const ms_text_facts facts = {.config = config, .layer = MS_NONE};
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < checks->count && status == MS_OK; i++)
        status = check(&facts, checks->items[i], err);
    return status;
}

/* ---- derived members ---- */

static void set(ms_model_config *config, const ms_key *row, double value)
{
    void *member = (char *)config + row->offset;
    const bool is_count = row->kind == MS_KEY_COUNT || row->kind == MS_KEY_OPTIONAL;
    if (is_count && value >= 0 && value < (double)UINT64_MAX)
        *(uint64_t *)member = (uint64_t)value;
    else if (is_count)
        *(uint64_t *)member = value < 0 ? 0 : UINT64_MAX;
    else if (row->kind == MS_KEY_FRACTION)
        *(double *)member = value;
    else if (row->kind == MS_KEY_ACTIVATION)
        *(ms_activation *)member = (ms_activation)value;
    else
        *(bool *)member = value < 0 || value > 0;
}

static ms_status run(ms_model_config *config, const ms_text_block *block, ms_error *err)
{
    const ms_text_facts facts = {.config = config, .layer = MS_NONE};
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < block->count && status == MS_OK; i++) {
        const ms_text_statement *s = block->items[i];
        if (s->kind == MS_STATEMENT_ASSERT)
            status = check(&facts, s, err);
        else if (s->kind == MS_STATEMENT_IF)
            status = run(config, ms_family_truth(&facts, s->value) ? &s->body : &s->other, err);
        else if (s->kind == MS_STATEMENT_ASSIGN)
            set(config, &s->targets[0]->key->row,
                s->value->kind == MS_NODE_STRING ? s->value->number
                                                 : ms_family_number(&facts, s->value));
    }
    return status;
}

/* NAME = derived(EXPRESSION), in the order of the text. */
static ms_status set_sizes(ms_model_config *config, const ms_family_text *text, ms_error *err)
{
    const ms_text_facts facts = {.config = config, .layer = MS_NONE};
    for (uint32_t i = 0; i < text->derived_count; i++) {
        const ms_family_key *key = &text->derived[i];
        const double size = key->value ? ms_family_number(&facts, key->value) : 0;
        if (key->value && !(size >= 0 && size <= MS_FAMILY_MOST_SIZE))
            return ms_fail(err, MS_ERR_CONFIG, "%s: this is not a size", key->name);
        if (key->value)
            set(config, &key->row, size);
    }
    return MS_OK;
}

ms_status ms_family_text_derive(ms_model_config *config, ms_error *err)
{
    const ms_family_text *text = config->family->text;
    if (text->has_decoder)
        config->num_layers = config->encoder_layers + config->decoder_layers;
    ms_status status = run(config, &text->derive, err);
    return status == MS_OK ? set_sizes(config, text, err) : status;
}
