/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/modules/recount.h"

#include "decide/plan/modules/checkpoints.h"

/* floor(made * parts / MS_PARTS) without a product that could wrap. */
static uint64_t share(uint64_t made, uint32_t parts)
{
    return made / MS_PARTS * parts + made % MS_PARTS * parts / MS_PARTS;
}

uint64_t ms_checkpoint_freed_bytes(const ms_module *module, uint32_t parts)
{
    /* What is made but was never kept must be discarded first, for nothing. */
    uint64_t discarded = share(module->made_bytes, parts);
    uint64_t never_kept = module->made_bytes - module->saved_bytes;
    return discarded > never_kept ? discarded - never_kept : 0;
}

double ms_checkpoint_ms(const ms_module *module, uint32_t parts)
{
    double fraction = (double)parts / MS_PARTS, most = 0;
    for (uint32_t i = 0; parts > 0 && i < module->segment_count; i++) {
        double here = module->segments[i].slope * fraction + module->segments[i].intercept;
        most = here > most ? here : most;
    }
    return most * module->operators_ms;
}

uint64_t ms_checkpoint_kept_bytes(const ms_checkpoint_task *task, uint32_t module)
{
    const ms_module *m = &task->graph->modules[module];
    uint64_t sharded = task->graph->modules[0].param_bytes + m->grad_total_bytes;
    uint64_t each = sharded / task->world_size + (sharded % task->world_size != 0);
    return m->act_total_bytes + m->act_grad_bytes + each + task->reserve_bytes;
}

uint64_t ms_checkpoint_peak(const ms_checkpoint_task *task, const uint32_t *order,
                            const uint32_t *parts, uint32_t *module)
{
    uint64_t freed = 0, peak = 0;
    *module = order[0];
    for (uint32_t i = 0; i < task->graph->count; i++) {
        uint32_t m = order[i];
        uint64_t kept = ms_checkpoint_kept_bytes(task, m);
        uint64_t need = kept > freed ? kept - freed : 0;
        if (need > peak) {
            peak = need;
            *module = m;
        }
        freed += ms_checkpoint_freed_bytes(&task->graph->modules[m], parts[m]);
    }
    return peak;
}
