/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "autograd/hooks.h"

#include "autograd/tape.h"

void ms_hooks_free(ms_hooks *hooks)
{
    ms_vec_free(&hooks->gradients);
}

/* ---- gradients ---- */

void ms_hooks_push_gradient(ms_tape *tape, ms_gradient_hook hook)
{
    if (!ms_vec_push(&tape->hooks.gradients, hook))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

void ms_hooks_pop_gradient(ms_tape *tape)
{
    tape->hooks.gradients.count--;
}

void ms_hooks_accumulated(ms_tape *tape, uint32_t parameter)
{
    for (uint32_t i = 0; i < tape->hooks.gradients.count; i++) {
        ms_gradient_hook hook = tape->hooks.gradients.items[i];
        hook.accumulated(tape, hook.context, parameter);
    }
}
