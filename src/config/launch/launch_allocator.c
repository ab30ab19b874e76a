/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/launch/launch_allocator.h"

#include <string.h>

#include "config/launch/launch_class.h"

/* Where LLaMA-Factory starts torchrun, it asks for expandable segments (OPTIM_TORCH). */
static bool has_own_allocator(const ms_launch *l, uint32_t word)
{
    const char *name = ms_launch_base_name(l->words[word].text);
    bool is_factory = strcmp(name, "llamafactory-cli") == 0 || strcmp(name, "lmf") == 0;
    return is_factory && !ms_shell_find(&l->shell, "OPTIM_TORCH") &&
           (l->processes > 1 || ms_shell_find(&l->shell, "FORCE_TORCHRUN"));
}

ms_status ms_launch_take_allocator(ms_launch *l, uint32_t word)
{
    static const char *const names[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
    if (has_own_allocator(l, word))
        return ms_launch_add_constant(l, &l->trainer, names[0], word, "expandable_segments:True");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const ms_shell_variable *variable = ms_shell_find(&l->shell, names[i]);
        bool is_known = variable && variable->count == 1 && !variable->items[0].unknown;
        if (variable && variable->count > 0 && (!is_known || *variable->items[0].text))
            return ms_launch_add_constant(l, &l->trainer, names[0], word,
                                          is_known ? variable->items[0].text : "?");
    }
    return MS_OK;
}
