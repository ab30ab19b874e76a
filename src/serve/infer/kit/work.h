/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a pass of a model has to do at least, for upper bounds of its speed: products, and bytes of
 * weights and cache that it reads. What is not certain is left out, so that bounds stay bounds.
 */
#ifndef MS_SERVE_INFER_KIT_WORK_H
#define MS_SERVE_INFER_KIT_WORK_H

#include <stdbool.h>
#include <stdint.h>

/* Layers of attention that see as many tokens back. */
typedef struct ms_work_span {
    uint64_t window;    /* tokens; 0: all */
    double pair_flops;  /* of a query with each token that it sees: keys and values */
    double token_bytes; /* of a token in the cache, read for the next token of its sequence */
} ms_work_span;

/* Of weights: how many are multiplied, each with one multiplication and one addition for a token,
 * and their bytes. */
typedef struct ms_work_weights {
    double count, bytes;
} ms_work_weights;

enum { MS_WORK_WINDOWED, MS_WORK_FULL, MS_WORK_SPANS };

/* What the host reads of the same, for the next token: parts of what stands in the work. */
typedef struct ms_work_host {
    double bytes, expert_bytes;        /* of layers and head; of one expert of each layer */
    double token_bytes[MS_WORK_SPANS]; /* as of the spans */
    double bytes_per_s;                /* of its memory; 0: not known */
} ms_work_host;

typedef struct ms_infer_work {
    const char *reason;     /* why there is no bound: a sentence without a full stop; or NULL */
    const char *no_prefill; /* the same of the prompts alone */
    ms_work_weights layers; /* of every token: without experts, embeddings and the head */
    ms_work_weights head;   /* of every token whose logits are made */
    ms_work_weights expert; /* one expert of each layer that has some */
    uint64_t experts, used; /* of a layer; of a token */
    ms_work_span spans[MS_WORK_SPANS];
    ms_work_host host;
    double flops;     /* of a device, per second, in the types of the products; 0: unknown */
    const char *type; /* of these rates: "bf16" */
    uint32_t prefill_devices, decode_devices; /* that may work at the same time */
} ms_infer_work;

#endif
