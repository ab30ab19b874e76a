/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finding the names of a text: locals become slots, keys members of the config, calls rows.
 */
#ifndef MS_MODEL_EVALUATOR_RESOLVE_H
#define MS_MODEL_EVALUATOR_RESOLVE_H

#include "model/evaluator/program.h"

typedef struct ms_resolver {
    ms_family_reading *reading;
    ms_family_text *text;
    const ms_family_class *klass;       /* whose text this is; NULL: of no class */
    ms_family_function *function;       /* NULL: of no function */
    const char *names[MS_FAMILY_SLOTS]; /* of the function's slots */
    const char *loop;         /* the name that a loop binds to modules; NULL: in no loop */
    const ms_text_node *list; /* the field that it goes over */
    const char *rule;         /* the layer's number in a rule of the config; NULL: in none */
    uint32_t object;          /* of the config, whose keys are read */
} ms_resolver;

/* What an expression is. */
typedef enum ms_family_type {
    MS_TYPE_WRONG, /* a failure was recorded */
    MS_TYPE_TENSOR,
    MS_TYPE_NUMBER, /* or a truth, or a dimension, of config and layer alone */
    MS_TYPE_NONE,
    MS_TYPE_MODULE,
    MS_TYPE_ANY /* known when it runs */
} ms_family_type;

/* The slot of a local name; it must have one. */
uint32_t ms_resolver_slot(const ms_resolver *resolver, const char *name);
/* Resolves an expression. `wanted`: results that are bound. */
ms_family_type ms_resolve(ms_resolver *resolver, ms_text_node *node, uint32_t wanted);
/* The same of one that must be a number of the config. */
bool ms_resolve_number(ms_resolver *resolver, ms_text_node *node);
/* Parts of that: names and members; the failure of an unknown name; the arguments of a row's call,
 * ordered by its parameters; the class of the modules that a field's value makes (with several,
 * their calls are alike; NULL: none). */
ms_family_type ms_resolve_name(ms_resolver *resolver, ms_text_node *node);
/* Whether a member is of self, or something that memscope knows of a loop's layer. */
bool ms_is_own_member(const ms_resolver *resolver, const ms_text_node *node);
ms_family_type ms_resolve_member(ms_resolver *resolver, ms_text_node *node);
ms_family_type ms_resolve_unknown(ms_resolver *resolver, const ms_text_node *node, bool is_called);
struct ms_primitive;
bool ms_resolve_arguments(ms_resolver *resolver, ms_text_node *node,
                          const struct ms_primitive *row);
const ms_family_class *ms_made_class(const ms_text_node *value);
/* A field's value. */
bool ms_resolve_field(ms_resolver *resolver, ms_text_node *node);
/* A function's body. */
bool ms_resolve_function(ms_resolver *resolver, ms_family_function *function);
/* The field of that name; MS_FAMILY_FIELDS: none. */
uint32_t ms_class_field(const ms_family_class *klass, const char *name);
/* All of a text that was merged: fields, functions, rules, checks. */
bool ms_family_text_resolve(ms_family_reading *reading, ms_family_text *text,
                            const ms_family_file *file);
/* Keys: the statement of a config class becomes a row. */
bool ms_family_key_read(ms_resolver *resolver, const ms_text_statement *statement);
const ms_family_key *ms_family_key_find(const ms_family_text *text, const char *name);
/* The same of one object of the config. */
const ms_family_key *ms_family_key_of(const ms_family_text *text, uint32_t object,
                                      const char *name);
/* A name that the config has also where the text has no such key; NULL: none. */
const ms_family_key *ms_family_key_always(const char *name);
/* The number of an activation that a text names. */
bool ms_family_activation(ms_resolver *resolver, const ms_text_node *node, double *value);
/* Finds the key that derive() sets, of the text or of those that memscope knows: target->key. */
bool ms_family_key_settable(ms_resolver *resolver, ms_text_node *target);
/* derive.c: what the config says across keys. */
bool ms_config_rules_resolve(ms_resolver *resolver);
/* The first key that an expression names; NULL: none. */
const ms_family_key *ms_family_key_in(const ms_text_node *node);

#endif
