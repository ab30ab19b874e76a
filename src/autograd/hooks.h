/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The points where others take part in autograd, which are PyTorch's own: saved tensors, modules,
 * gradients, operators. Each is a stack of small structs: functions (NULL: nothing to do) and a
 * context, which stays the owner's and must outlive the hook. Installing pushes, removing pops. The
 * engine calls hooks and knows none of their owners. A push that runs out of memory fails the tape.
 */
#ifndef MS_AUTOGRAD_HOOKS_H
#define MS_AUTOGRAD_HOOKS_H

#include "autograd/records.h"

/* ---- saved tensors (torch.autograd.graph.saved_tensors_hooks): the top of the stack alone ---- */

/* What becomes of a tensor that a node saves now. */
typedef enum ms_saving {
    MS_SAVING_TENSORS, /* it is kept: by the node, or by hooks elsewhere */
    MS_SAVING_NOTHING, /* it is not: forward will run again */
    MS_SAVING_AGAIN    /* forward runs again, for nodes that are there already */
} ms_saving;

typedef struct ms_saved_hooks {
    /* Takes the place of saving `tensor`, and yields by what number `unpack` knows it (not
     * MS_NONE); false: the node keeps the tensor. */
    bool (*pack)(struct ms_tape *tape, void *context, uint32_t number, ms_tensor tensor,
                 uint32_t *packed);
    /* The tensor, held for the node that runs; it is released when the node has run. */
    ms_tensor (*unpack)(struct ms_tape *tape, void *context, uint32_t number, uint32_t packed);
    /* A node with `count` packed tensors has run, and its gradients are gone. */
    void (*drop)(struct ms_tape *tape, void *context, uint32_t number, uint32_t count);
    void *context;
    uint32_t number; /* the owner's: handed to the functions */
    ms_saving saving;
    uint32_t below; /* set by the push: what the pop goes back to */
} ms_saved_hooks;

/* ---- modules (register_forward_pre_hook ...): those whose calls ms_module_begin announces ---- */

/* By scope; MS_NONE stands for the whole model. Forward calls them in the order of installation.
 * Where backward goes from one module to another, it calls the last installed first: each is told
 * of the end of the one and the beginning of the other. */
typedef struct ms_module_hooks {
    void (*before_forward)(struct ms_tape *tape, void *context, uint32_t scope);
    void (*after_forward)(struct ms_tape *tape, void *context, uint32_t scope);
    void (*before_backward)(struct ms_tape *tape, void *context, uint32_t scope);
    void (*after_backward)(struct ms_tape *tape, void *context, uint32_t scope);
    void *context;
} ms_module_hooks;

/* ---- gradients (Tensor.register_post_accumulate_grad_hook): all, in order of installation ---- */

/* A parameter's gradient is complete: in parameters[parameter].grad, which a listener may empty. */
typedef struct ms_gradient_hook {
    void (*accumulated)(struct ms_tape *tape, void *context, uint32_t parameter);
    void *context;
} ms_gradient_hook;

/* ---- operators (torch.utils._python_dispatch.TorchDispatchMode): all; the end in reverse ---- */

/* An operator that no other runs begins and ends. Between the two a hook may set tape->muted: what
 * is allocated then has no bytes, and nothing is recorded. */
typedef struct ms_op_hooks {
    void (*begin)(struct ms_tape *tape, void *context, uint32_t number, const ms_op *op);
    void (*end)(struct ms_tape *tape, void *context, uint32_t number);
    void *context;
    uint32_t number; /* the owner's: handed to the functions */
} ms_op_hooks;

/* ---- state: what an owner of hooks keeps with the tape ---- */

/* One for each owner, by address. */
typedef struct ms_state_kind {
    size_t bytes;
    void (*install)(struct ms_tape *tape, void *state); /* when it has been made, all zero */
    void (*drop_graph)(void *state);                    /* the graph of a micro-step goes */
    void (*free)(void *state);                          /* what it holds, not itself */
} ms_state_kind;

typedef struct ms_tape_state {
    const ms_state_kind *kind;
    void *state;
} ms_tape_state;

typedef struct ms_hooks {
    ms_vec(ms_saved_hooks) saved; /* all that were pushed since the graph was begun: nodes know them
                                     by number */
    uint32_t saved_top;           /* MS_NONE: none is installed */
    ms_vec(ms_module_hooks) modules;
    ms_vec(ms_gradient_hook) gradients;
    ms_vec(ms_op_hooks) operators;
    ms_vec(ms_tape_state) states;
} ms_hooks;

/* The owner's state, made when it is first asked for; NULL when out of memory (the tape fails). */
void *ms_hooks_state(struct ms_tape *tape, const ms_state_kind *kind);
/* The same, or NULL where nobody has asked for it. */
void *ms_hooks_find_state(const struct ms_tape *tape, const ms_state_kind *kind);

void ms_hooks_push_saved(struct ms_tape *tape, ms_saved_hooks hooks);
void ms_hooks_pop_saved(struct ms_tape *tape);
void ms_hooks_push_module(struct ms_tape *tape, ms_module_hooks hooks);
void ms_hooks_pop_module(struct ms_tape *tape);
void ms_hooks_push_gradient(struct ms_tape *tape, ms_gradient_hook hook);
void ms_hooks_pop_gradient(struct ms_tape *tape);
void ms_hooks_push_op(struct ms_tape *tape, ms_op_hooks hooks);
void ms_hooks_pop_op(struct ms_tape *tape);

ms_saving ms_hooks_saving(const struct ms_tape *tape);

/* Called by the tape and its engine. */
bool ms_hooks_pack(struct ms_tape *tape, ms_tensor tensor, uint32_t *packed);
void ms_hooks_forward_begins(struct ms_tape *tape, uint32_t scope);
void ms_hooks_forward_ends(struct ms_tape *tape, uint32_t scope);
/* Backward goes from one module to another; MS_NONE: from outside, to outside. */
void ms_hooks_backward_moves(struct ms_tape *tape, uint32_t from, uint32_t to);
void ms_hooks_backward_ends(struct ms_tape *tape);
void ms_hooks_accumulated(struct ms_tape *tape, uint32_t parameter);
void ms_hooks_op_begins(struct ms_tape *tape, const ms_op *op);
void ms_hooks_op_ends(struct ms_tape *tape);
void ms_hooks_drop_graph(struct ms_tape *tape);
void ms_hooks_free(ms_hooks *hooks);

#endif
