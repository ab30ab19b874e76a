/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/optimizer.h"

#include <stdio.h>

static const ms_optimizer_traits traits[] = {
#define TRAITS(kind, name, implementations, usual, decay, everywhere)                              \
    {name, implementations, MS_OPTIMIZER_##usual, decay, everywhere},
    MS_OPTIMIZER_LIST(TRAITS)
#undef TRAITS
};

const char *const ms_optimizer_names[] = {
#define NAME(kind, name, implementations, usual, decay, everywhere) name,
    MS_OPTIMIZER_LIST(NAME)
#undef NAME
        NULL};

const char *const ms_optimizer_impl_names[] = {[MS_OPTIMIZER_FUSED] = "fused",
                                               [MS_OPTIMIZER_FOREACH] = "foreach",
                                               [MS_OPTIMIZER_LOOP] = "loop",
                                               [MS_OPTIMIZER_IMPL_COUNT] = NULL};

const ms_optimizer_traits *ms_optimizer_traits_of(ms_optimizer_kind kind)
{
    return &traits[kind];
}

bool ms_optimizer_has(ms_optimizer_kind kind, ms_optimizer_impl implementation)
{
    return (traits[kind].implementations >> implementation & 1) != 0;
}

const char *ms_optimizer_implementations_text(ms_optimizer_kind kind, char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (int i = 0; i < MS_OPTIMIZER_IMPL_COUNT && used < size; i++)
        if (ms_optimizer_has(kind, (ms_optimizer_impl)i))
            used += (size_t)snprintf(out + used, size - used, "%s%s", used ? " or " : "",
                                     ms_optimizer_impl_names[i]);
    return out;
}
