/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a text says of its family beside modules and calls: class facts (of the framework's class,
 * and of what was compared), class peft, class liger and class vllm.
 */
#ifndef MS_MODEL_EVALUATOR_FACTS_H
#define MS_MODEL_EVALUATOR_FACTS_H

#include "input/config/model/family.h"
#include "input/config/model/family_facts.h"
#include "model/evaluator/syntax/syntax.h"

/* Whether a class of that name has facts in place of modules. */
bool ms_is_class_of_facts(const char *name);
/* Reads such a class: the members that it names are set, others stay. False after a failure. */
bool ms_family_facts_read(ms_family_reading *reading, const ms_text_statement *statement,
                          ms_family *family, ms_family_facts *facts);

#endif
