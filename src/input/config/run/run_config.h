/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A training run: everything other than the model that determines memory. Filled from a run file
 * and from command-line options through one table of fields (run_field_list.h); options win over
 * the file.
 */
#ifndef MS_INPUT_CONFIG_RUN_RUN_CONFIG_H
#define MS_INPUT_CONFIG_RUN_RUN_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/allocator/allocator.h"
#include "core/device/calibration.h"
#include "core/device/device.h"
#include "core/tensor/dtype.h"
#include "input/config/adapter/adapter.h"
#include "input/config/keys/read_keys.h"
#include "input/config/model/family.h"
#include "input/config/model/liger_facts.h"
#include "input/config/model/notes.h"
#include "input/config/quantize/quantize.h"
#include "input/config/run/layout.h"
#include "input/config/run/optimizer.h"
#include "input/config/treatment/offload_tags.h"
#include "input/config/treatment/treatment.h"
#include "memscope/watch.h"

typedef enum ms_optimizer_device {
    MS_OPTIMIZER_ON_DEVICE,
    MS_OPTIMIZER_ON_HOST /* states in host memory, update on the CPU */
} ms_optimizer_device;

typedef enum ms_parameter_device {
    MS_PARAMETERS_ON_DEVICE,
    MS_PARAMETERS_ON_HOST /* those of the layers, fetched when their layer runs */
} ms_parameter_device;

typedef enum ms_attention {
    MS_ATTENTION_AUTO, /* the back end that this version of PyTorch selects on this device */
    MS_ATTENTION_FLASH,
    MS_ATTENTION_EFFICIENT,
    MS_ATTENTION_CUDNN,
    MS_ATTENTION_MATH,
    MS_ATTENTION_EAGER,
    MS_ATTENTION_CPU_FLASH,
    MS_ATTENTION_COUNT
} ms_attention;

typedef enum ms_experts {
    MS_EXPERTS_AUTO,    /* the framework's default: grouped */
    MS_EXPERTS_GROUPED, /* all experts in one grouped matrix product */
    MS_EXPERTS_EAGER,   /* one after the other */
    MS_EXPERTS_COUNT
} ms_experts;

/* How tokens are distributed over experts. Affects only the memory of eager experts. */
typedef enum ms_routing_kind {
    MS_ROUTING_BALANCED, /* all experts get equally many tokens */
    MS_ROUTING_SKEWED,   /* the first experts get all tokens; their saved tensors live longest */
    MS_ROUTING_COUNT
} ms_routing_kind;

typedef enum ms_autocast { MS_AUTOCAST_NONE, MS_AUTOCAST_BF16, MS_AUTOCAST_F16 } ms_autocast;

typedef enum ms_accumulation {
    MS_ACCUMULATE_SAME, /* gradients are accumulated in the parameters' dtype */
    MS_ACCUMULATE_F32   /* gradients of half-precision parameters are accumulated in fp32 buffers */
} ms_accumulation;

typedef enum ms_checkpoint_kind {
    MS_CHECKPOINT_NON_REENTRANT, /* use_reentrant=False, with early stop */
    MS_CHECKPOINT_REENTRANT
} ms_checkpoint_kind;

/* Whether sequences of a batch are filled up with tokens of no meaning. */
typedef enum ms_padding {
    MS_PADDING_NO,      /* and the model gets no attention mask */
    MS_PADDING_ONES,    /* it gets one that masks nothing */
    MS_PADDING_YES,     /* it gets one that masks a token */
    MS_PADDING_UNKNOWN, /* it gets one, and either may be */
    MS_PADDING_COUNT
} ms_padding;

/* The loop around the step: which tensors of batches and losses the device has beside it. */
typedef enum ms_loop {
    MS_LOOP_FIXED,  /* one batch, which stays; the labels are its ids */
    MS_LOOP_LOADER, /* a batch for each micro-step, with labels; the last loss stays bound */
    MS_LOOP_TRAINER /* transformers' Trainer: the batches of a step at once, its sums and counts */
} ms_loop;

/* What head and loss are. */
typedef enum ms_loss {
    MS_LOSS_MODEL,    /* the model's own */
    MS_LOSS_TRL,      /* TRL's head, which makes log-probabilities of labels in tiles */
    MS_LOSS_CUT,      /* cut cross entropy, whose kernels keep no logits */
    MS_LOSS_TORCHTUNE /* torchtune's LinearCrossEntropyLoss, in eight pieces */
} ms_loss;

/* Names of the values of these enums, for parsers and reports, in the order of the enum, ending
 * with NULL. Names for attention, experts and optimizers are in their own headers. */
extern const char *const ms_autocast_names[];
extern const char *const ms_accumulation_names[];
extern const char *const ms_checkpoint_kind_names[];
extern const char *const ms_padding_names[];
extern const char *const ms_loop_names[];
extern const char *const ms_loss_names[];
extern const char *const ms_place_names[]; /* of ms_optimizer_device and ms_parameter_device */

/* What the training arguments specify for several GPUs. */
typedef struct ms_several_gpus {
    const char *text; /* a sentence for a note next to the verdict; NULL: none */
    bool is_ignored;  /* they shard, which the figures ignore */
    bool has_buckets; /* DistributedDataParallel's buckets, as large as the gradients, are not
                         predicted */
} ms_several_gpus;

/* Settings of training runs only: loss, gradients, optimizer, evaluation between steps. */
typedef struct ms_training {
    ms_optimizer_kind optimizer;
    ms_optimizer_impl optimizer_impl;
    bool optimizer_in_backward; /* each parameter is updated as soon as its gradient is ready */
    ms_optimizer_device optimizer_device;
    double weight_decay;
    ms_loop loop;
    ms_loss loss;
    uint64_t accumulate; /* micro-batches per optimizer step */
    ms_accumulation accumulation;
    bool clip;
    double clip_norm;
    double label_smoothing;     /* Trainer's LabelSmoother; 0: the model's own loss */
    uint64_t labels;            /* tokens of a micro-batch that have one; 0: all that may */
    uint64_t logits_to_keep;    /* the head runs only on the last tokens; 0: on all */
    uint64_t empty_cache_steps; /* the cache is emptied every N-th step; 0: never */
    uint64_t eval_batch;        /* sequences per evaluation batch; 0: no evaluation */
    uint64_t eval_logits;       /* evaluation batches whose logits are kept on the device */
} ms_training;

/* Images in the sequences of a model with a vision tower. */
typedef struct ms_run_images {
    uint64_t count;     /* in each sequence; 0: none */
    uint64_t sides[2];  /* width and height in pixels, as given; 0: not given */
    bool frozen;        /* the tower is not trained */
    bool checkpoints;   /* the tower's blocks are checkpointed, as layers are */
    ms_image_grid grid; /* of each image, as the model's processor resizes it */
} ms_run_images;

typedef struct ms_run_config {
    ms_watch *watch;        /* of who follows the call; or NULL */
    uint64_t batch;         /* sequences per micro-batch */
    uint64_t seq_tokens;    /* tokens per sequence; of an encoder with a decoder the decoder's */
    uint64_t source_tokens; /* of such a model's encoder; 0: as many */
    uint64_t joined; /* sequences of the file that are joined to one, which is the batch; 0: none */
    struct {
        ms_padding given;
        ms_padding simulated; /* never unknown: of both the one that needs more */
        bool is_alone;        /* a batch of one, which its trainer pads to the longest: larger ones
                                 may have padding */
    } padding;
    /* In each row, kept apart by the positions of its tokens; 0: rows are one. */
    uint64_t documents;
    bool has_fewest_documents; /* nobody said how many: the fewest that a trainer joins */
    ms_run_images images;
    ms_dtype dtype; /* of the weights */
    ms_autocast autocast;
    ms_parameter_device parameter_device; /* on the host only if the optimizer is */
    bool has_host_layers;   /* inference: layers from `device_layers` on wait on the host */
    uint64_t device_layers; /* and so does what comes after layers; see host_modules.h */
    ms_training training;   /* models do not read it: what they need is in their inputs */
    ms_parallel parallel;   /* ranks that train together */
    uint64_t liger;         /* bits of ms_liger that the family supports */
    const struct ms_liger_family *liger_family; /* NULL: no kernels */
    const char *checkpointing;    /* as given: "none", "all", "first:8", "0,2,5-9", "every:2" */
    const char *treat;            /* as given, applied after `checkpointing`; "" = none */
    const ms_error *treat_place;  /* its place in a file, or NULL */
    ms_treatments treatments;     /* from both; layers in the arena */
    ms_offload_tags offload_tags; /* of layers that are kept; set by `probe` alone */
    const ms_adapter *adapter;    /* NULL: the model's own weights are trained */
    ms_quantization quantization; /* of the frozen base */
    bool upcast; /* prepare_model_for_kbit_training: casts weights that are not quantised to fp32 */
    ms_checkpoint_kind checkpoint_kind;
    ms_attention attention;
    ms_experts experts;      /* never auto */
    ms_routing_kind routing; /* of eager experts */
    ms_allocator_options allocator;
    union {
        struct {
            uint32_t torch_major, torch_minor;
        };
        uint32_t torch[2];
    };
    const ms_device *device;  /* never NULL; "cpu" is a row */
    const ms_device *devices; /* all rows, if they were read */
    uint32_t device_count;
    const ms_calibration *calibration; /* already applied to the device; NULL: none */
    bool has_budget;                   /* a budget was given */
    bool has_dtype;                    /* a dtype, autocast or a policy was given */
    uint64_t budget_bytes;             /* as given, else the device's usable bytes; 0: unknown */
    ms_several_gpus several_gpus;
    ms_notes unsupported;             /* what the figures leave out, beside `keys` */
    const char *const *other_end;     /* see ms_read_keys_other_end */
    ms_read_keys keys;                /* of the run's files */
    ms_notes notes;                   /* about its input, for reports */
    const struct ms_run_draft *draft; /* what it was resolved from, to resolve it again with other
                                         settings (input/config/load/again.h); NULL: from nothing */
} ms_run_config;

/* Tokens per sequence of the encoder, of a model that has a decoder too. */
static inline uint64_t ms_source_tokens(const ms_run_config *run)
{
    return run->source_tokens ? run->source_tokens : run->seq_tokens;
}

/* Whether a token of a batch may be padding. */
static inline bool ms_may_be_padded(const ms_run_config *run)
{
    return run->padding.given == MS_PADDING_YES || run->padding.given == MS_PADDING_UNKNOWN;
}

/* Whether head and loss are the model's own; only such a loss can be chunked. */
static inline bool ms_loss_is_plain(const ms_run_config *run)
{
    return !(run->liger & MS_LIGER_LOSS) && run->training.label_smoothing <= 0 &&
           run->training.logits_to_keep == 0 && run->training.loss == MS_LOSS_MODEL;
}

/* Whether the optimizer is on the device and could be moved to the host. */
static inline bool ms_optimizer_may_move(const ms_run_config *run)
{
    return run->training.optimizer_device == MS_OPTIMIZER_ON_DEVICE &&
           run->parallel.layout.kind == MS_PARALLEL_NONE && !run->training.optimizer_in_backward &&
           run->training.accumulation == MS_ACCUMULATE_SAME && !run->device->is_cpu &&
           ms_optimizer_traits_of(run->training.optimizer)->is_everywhere;
}

/* Whether the parameters are on the device and could be moved to the host, with the optimizer. */
static inline bool ms_parameters_may_move(const ms_run_config *run)
{
    return run->parameter_device == MS_PARAMETERS_ON_DEVICE &&
           run->parallel.layout.kind == MS_PARALLEL_NONE && !run->device->is_cpu && !run->adapter &&
           !run->training.optimizer_in_backward &&
           run->training.accumulation == MS_ACCUMULATE_SAME &&
           ms_optimizer_traits_of(run->training.optimizer)->is_everywhere;
}

/* ---- budget ---- */

/* Budgets: converts a budget of the process to a capacity of its allocator, and back.
 * `budget_bytes` is the memory of the whole process on the device, CUDA context included, as the
 * user gives it or the device has it; `capacity_bytes` is the part that the allocator may reserve.
 * 0 means no budget and no limit. */

/* Memory of a process on the device, including the CUDA context, which is an estimate. */
typedef struct ms_device_bytes {
    uint64_t low, expected, high;
} ms_device_bytes;

/* The device bytes for these reserved bytes. */
ms_device_bytes ms_budget_device_bytes(const ms_device *device, uint64_t reserved_bytes);

/* Groups of ranks that speak to each other, one communicator each. */
uint32_t ms_communicators_of(const ms_layout *layout);
/* What NCCL's buffers take at most, outside the allocator: 688 MB for each communicator of more
 * than two ranks, as users of PyTorch measured them on four A100. They grow with the channels and
 * peers that are in use. */
uint64_t ms_budget_nccl_bytes(const ms_run_config *run);

/* The bytes that may be reserved within a budget, with the expected context: at least 1, as 0 would
 * be no limit. */
uint64_t ms_budget_capacity(const ms_device *device, uint64_t budget_bytes);

/* Sets the budget of the run and the resulting capacity of its allocator; the raw allocator has no
 * limit. */
void ms_budget_set(ms_run_config *run, uint64_t budget_bytes);
/* Removes only the allocator's limit; exceeding the budget is then detected afterwards. */
void ms_budget_lift(ms_run_config *run);

/* ---- tokens ---- */

/* What a run trains: its tokens, of all ranks together. */

/* Of a step, of all ranks and micro-batches; 0: too many to count. Ranks of tensor, context and
 * pipeline parallelism share theirs. */
uint64_t ms_run_tokens(const ms_run_config *run);
/* Those of a micro-batch that may have a label: all but the first of each row or document; and
 * those that have one, as given, else all that may. */
uint64_t ms_run_most_labels(const ms_run_config *run);
uint64_t ms_run_labels(const ms_run_config *run);
/* Of all ranks together, at this time of a step; 0: not known. */
double ms_run_tokens_per_s(const ms_run_config *run, double step_ms);
/* The same, divided by the number of ranks. */
double ms_run_tokens_per_s_per_gpu(const ms_run_config *run, double step_ms);

#endif
