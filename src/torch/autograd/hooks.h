/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Hooks into autograd, at PyTorch's own hook points: saved tensors, modules, gradients, operators.
 * Each point has a stack of structs: functions (NULL: nothing to do) and a context, which its owner
 * keeps and which must outlive the hook. Installing pushes, removing pops. The engine does not
 * depend on the owners of hooks. A push that runs out of memory fails the tape.
 */
#ifndef MS_TORCH_AUTOGRAD_HOOKS_H
#define MS_TORCH_AUTOGRAD_HOOKS_H

#include "torch/autograd/records.h"

/* ---- saved tensors (torch.autograd.graph.saved_tensors_hooks): the top of the stack alone ---- */

/* What happens to tensors that nodes save. */
typedef enum ms_saving {
    MS_SAVING_TENSORS, /* kept, by the node or by its hooks */
    MS_SAVING_NOTHING, /* not kept: forward will be recomputed */
    MS_SAVING_AGAIN    /* forward is being recomputed, for existing nodes */
} ms_saving;

typedef struct ms_saved_hooks {
    /* Called instead of saving `tensor`; sets the handle that `unpack` gets (not MS_NONE). False:
     * the node saves the tensor. */
    bool (*pack)(struct ms_tape *tape, void *context, uint32_t number, ms_tensor tensor,
                 uint32_t *packed);
    /* Returns the tensor, retained for the running node and released after it. */
    ms_tensor (*unpack)(struct ms_tape *tape, void *context, uint32_t number, uint32_t packed);
    /* A node with `count` packed tensors has run and its gradients were released. */
    void (*drop)(struct ms_tape *tape, void *context, uint32_t number, uint32_t count);
    /* The graph of a result that was dropped goes, and with it what was packed. May be NULL. */
    void (*forget)(struct ms_tape *tape, void *context, uint32_t number, uint32_t packed);
    void *context;
    uint32_t number; /* the owner's: passed to the functions */
    ms_saving saving;
    uint32_t below; /* set by push: the hooks that pop restores */
} ms_saved_hooks;

/* ---- modules (register_forward_pre_hook ...): those whose calls ms_module_begin announces ---- */

/* By scope; MS_NONE is the whole model. Forward calls hooks in the order of installation. When
 * backward moves from one module to another, it calls hooks in reverse order: each gets the end of
 * the one and the beginning of the other. */
typedef struct ms_module_hooks {
    void (*before_forward)(struct ms_tape *tape, void *context, uint32_t scope);
    void (*after_forward)(struct ms_tape *tape, void *context, uint32_t scope);
    void (*before_backward)(struct ms_tape *tape, void *context, uint32_t scope);
    void (*after_backward)(struct ms_tape *tape, void *context, uint32_t scope);
    /* A node of any module begins, before its saved tensors are unpacked. */
    void (*before_node)(struct ms_tape *tape, void *context, uint32_t scope, const ms_op *op);
    void *context;
} ms_module_hooks;

/* ---- gradients (Tensor.register_post_accumulate_grad_hook): all, in order of installation ---- */

/* A backward pass has completed a parameter's gradient, in parameters[parameter].grad; a hook may
 * release or replace it. */
typedef struct ms_gradient_hook {
    void (*accumulated)(struct ms_tape *tape, void *context, uint32_t parameter);
    void *context;
} ms_gradient_hook;

/* ---- operators (torch.utils._python_dispatch.TorchDispatchMode): all; the end in reverse ---- */

/* An outermost operator begins and ends. In between a hook may set tape->muted: allocations then
 * have no bytes, and nothing is recorded. */
typedef struct ms_op_hooks {
    void (*begin)(struct ms_tape *tape, void *context, uint32_t number, const ms_op *op);
    void (*end)(struct ms_tape *tape, void *context, uint32_t number);
    void *context;
    uint32_t number; /* the owner's: passed to the functions */
} ms_op_hooks;

/* ---- state: what an owner of hooks keeps with the tape ---- */

/* One per owner, identified by its address. */
typedef struct ms_state_kind {
    size_t bytes;
    void (*install)(struct ms_tape *tape, void *state); /* called once with the new, zeroed state */
    void (*drop_graph)(void *state);                    /* the graph of a micro-step is dropped */
    void (*free)(void *state);                          /* frees its contents, not `state` itself */
} ms_state_kind;

typedef struct ms_tape_state {
    const ms_state_kind *kind;
    void *state;
} ms_tape_state;

typedef struct ms_hooks {
    ms_vec(ms_saved_hooks) saved; /* pushed since the graph began; nodes have indices */
    uint32_t saved_top;           /* MS_NONE: none is installed */
    ms_vec(ms_module_hooks) modules;
    ms_vec(ms_gradient_hook) gradients;
    ms_vec(ms_op_hooks) operators;
    ms_vec(ms_tape_state) states;
} ms_hooks;

/* The owner's state, created on first use; NULL when out of memory (the tape fails). */
void *ms_hooks_state(struct ms_tape *tape, const ms_state_kind *kind);
/* The same, or NULL if it was not created. */
void *ms_hooks_find_state(const struct ms_tape *tape, const ms_state_kind *kind);

void ms_hooks_push_saved(struct ms_tape *tape, ms_saved_hooks hooks);
void ms_hooks_pop_saved(struct ms_tape *tape);
void ms_hooks_push_module(struct ms_tape *tape, ms_module_hooks hooks);
void ms_hooks_push_gradient(struct ms_tape *tape, ms_gradient_hook hook);
void ms_hooks_pop_gradient(struct ms_tape *tape);
void ms_hooks_push_op(struct ms_tape *tape, ms_op_hooks hooks);
void ms_hooks_pop_op(struct ms_tape *tape);

ms_saving ms_hooks_saving(const struct ms_tape *tape);

/* Called by the tape and its engine. */
bool ms_hooks_pack(struct ms_tape *tape, ms_tensor tensor, uint32_t *packed);
void ms_hooks_forward_begins(struct ms_tape *tape, uint32_t scope);
void ms_hooks_forward_ends(struct ms_tape *tape, uint32_t scope);
/* Backward moves from one module to another; MS_NONE: outside any. */
void ms_hooks_backward_moves(struct ms_tape *tape, uint32_t from, uint32_t to);
void ms_hooks_backward_ends(struct ms_tape *tape);
void ms_hooks_node_begins(struct ms_tape *tape, uint32_t scope, const ms_op *op);
void ms_hooks_accumulated(struct ms_tape *tape, uint32_t parameter);
void ms_hooks_op_begins(struct ms_tape *tape, const ms_op *op);
void ms_hooks_op_ends(struct ms_tape *tape);
void ms_hooks_drop_graph(struct ms_tape *tape);
void ms_hooks_free(ms_hooks *hooks);

#endif
