# SPDX-License-Identifier: GPL-3.0-or-later
"""The model of PyTorch's test_sac_ilp.py, by formulas: its test Transformer with 4 layers.

Every byte follows from the shapes; root figures are those that the test's trace gives. How long
what takes is made up: neither the peak nor the sum of the discarded fractions depends on it.
"""
import siblings

BATCH, SEQ, DIM, HEADS, VOCAB, LAYERS = 8, 1024, 768, 12, 8192, 4
TOKENS = BATCH * SEQ
HIDDEN = 4 * TOKENS * DIM                 # bytes of one hidden state
LOGITS = 4 * TOKENS * VOCAB
POSITIONS, EMBEDDING = 4 * SEQ * DIM, 4 * VOCAB * DIM
NORM = 2 * 4 * DIM
ATTENTION, FEED_FORWARD = 4 * 4 * DIM**2, 4 * (8 * DIM**2 + 5 * DIM)
LAYER = ATTENTION + FEED_FORWARD + 2 * NORM
ALL = LAYERS * LAYER + EMBEDDING + POSITIONS + NORM
SOFTMAX = 4 * TOKENS * HEADS + 1024       # log-sum-exp; seed and offset of the dropout
STEP = 33 * HIDDEN // 2 + 16 * TOKENS + SOFTMAX
LAYER_GRAD = 5 * HIDDEN + 16 * DIM**2 + 4 * DIM


def module(fqn, params, grad_total, saved, act_grad, act_total, unsaved=0, ms=0.0):
    """Stats; the first 60 % of what is made are cheap to make again, the rest is products."""
    return {"fqn": fqn, "param_per_module": params, "grad_per_module": params,
            "grad_total": grad_total, "act_fw_per_module": saved, "act_grad_per_module": act_grad,
            "act_total": act_total, "fw_runtime_per_module": ms, "bw_runtime_per_module": 2 * ms,
            "is_leaf": ms == 0, "sac_memory": saved + unsaved, "sac_runtime": ms,
            "n_segments": 2, "slopes": [0.35, 1.975], "intercepts": [0.0, -0.975]}


def module_info():
    first = 5 * HIDDEN // 4 + POSITIONS + 8 * SEQ + LOGITS
    last = first + LAYERS * STEP
    output = last + HIDDEN + 8 * TOKENS + LOGITS
    stats = [module("Transformer", ALL, 0, output - POSITIONS, LAYER_GRAD + EMBEDDING + HIDDEN,
                    output - POSITIONS, 4 * LAYERS * HIDDEN, 32.0)]
    for i in range(LAYERS):
        fqn, total = f"Transformer.layers.{i}", first + (i + 1) * STEP
        grads = NORM + (LAYERS - 1 - i) * LAYER
        stats += [
            module(fqn, LAYER, grads, STEP - HIDDEN, LAYER_GRAD, total, 4 * HIDDEN, 8.0),
            module(fqn + ".attention", ATTENTION, grads + FEED_FORWARD + NORM,
                   17 * HIDDEN // 4 + SOFTMAX, 4 * HIDDEN, total - 41 * HIDDEN // 4 - 8 * TOKENS,
                   2 * HIDDEN, 3.0),
            module(fqn + ".feed_forward", FEED_FORWARD, grads, 33 * HIDDEN // 4, LAYER_GRAD, total,
                   2 * HIDDEN, 5.0)]
    stats.append(module("Transformer.output", EMBEDDING, 0, 0, EMBEDDING + HIDDEN, output))
    return siblings.with_orders(stats)
