/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The points where others take part in autograd, which are PyTorch's own. Each is a stack of small
 * structs: functions (NULL: nothing to do) and a context, which stays the owner's and must outlive
 * the hook. The engine calls hooks and knows none of their owners. A push that runs out of memory
 * fails the tape.
 */
#ifndef MS_AUTOGRAD_HOOKS_H
#define MS_AUTOGRAD_HOOKS_H

#include "autograd/records.h"

/* A parameter's gradient is complete: in parameters[parameter].grad, which a listener may empty.
 * All listeners are called, in the order of installation
 * (Tensor.register_post_accumulate_grad_hook). */
typedef struct ms_gradient_hook {
    void (*accumulated)(struct ms_tape *tape, void *context, uint32_t parameter);
    void *context;
} ms_gradient_hook;

typedef struct ms_hooks {
    ms_vec(ms_gradient_hook) gradients;
} ms_hooks;

void ms_hooks_free(ms_hooks *hooks);

void ms_hooks_push_gradient(struct ms_tape *tape, ms_gradient_hook hook);
void ms_hooks_pop_gradient(struct ms_tape *tape);

/* Called by the engine. */
void ms_hooks_accumulated(struct ms_tape *tape, uint32_t parameter);

#endif
