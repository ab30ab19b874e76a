/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parameters are told by their names and by the class of their module.
 */
#include "torch/parallel/zero/zero_groups.h"

#include <string.h>
#include <strings.h>

static bool contains(const char *name, const char *word)
{
    size_t length = strlen(word);
    for (; *name; name++)
        if (strncasecmp(name, word, length) == 0)
            return true;
    return false;
}

static bool ends_with(const char *name, const char *word)
{
    size_t length = strlen(name), end = strlen(word);
    return length >= end && strcasecmp(name + length - end, word) == 0;
}

/* A part of a parameter's name, between dots. */
static bool is_exempt(const char *part)
{
    static const char *const words[] = {"bias", "layernorm", "rmsnorm"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (contains(part, words[i]))
            return true;
    return strcasecmp(part, "norm") == 0 || ends_with(part, "_norm");
}

uint32_t ms_zero_group_number(const ms_tape *tape, const ms_zero *zero, uint32_t index)
{
    const ms_trace *trace = tape->trace;
    const ms_parameter *parameter = &tape->parameters.items[index];
    if (!zero->has_decay_groups)
        return 0;
    bool is_exempted = parameter->is_layer_norm || is_exempt(trace->names.items[parameter->name]);
    for (uint32_t scope = parameter->scope; scope != MS_NONE && !is_exempted;
         scope = trace->scopes.items[scope].parent)
        is_exempted = is_exempt(trace->names.items[trace->scopes.items[scope].name]);
    return is_exempted ? 1 : 0;
}
