/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The optimizer in files of training settings.
 */
#include "config/trainers/training_optimizer.h"

#include <string.h>

#include "text/nearest.h"
#include "config/trainers/training_reading.h"

static const struct {
    const char *name, *optimizer;
    const char *impl; /* NULL: what PyTorch takes by itself */
} optimizers[] = {
    {"adamw_torch", "adamw", NULL},
    {"adamw_torch_fused", "adamw", "fused"},
    {"sgd", "sgd", NULL},
    {"adagrad", "adagrad", NULL},
    {"rmsprop", "rmsprop", NULL},
    {"adafactor", "adafactor", "loop"},
    {"adamw_bnb_8bit", "trainer-adamw-8bit", "fused"},
    {"adamw_8bit", "trainer-adamw-8bit", "fused"},
    {"paged_adamw_8bit", "trainer-paged-adamw-8bit", "fused"},
    {"paged_adamw_32bit", "paged-adamw", "fused"},
    {"lion_32bit", "lion", "fused"},
    {"lion_8bit", "trainer-lion-8bit", "fused"},
    {"paged_lion_32bit", "paged-lion", "fused"},
    {"paged_lion_8bit", "trainer-paged-lion-8bit", "fused"},
    {"torch.optim.AdamW", "adamw", NULL},
    {"torch.optim.Adam", "adam", NULL},
    {"torch.optim.SGD", "sgd", NULL},
    {"torch.optim.Adagrad", "adagrad", NULL},
    {"torch.optim.RMSprop", "rmsprop", NULL},
    {"torch.optim.Adafactor", "adafactor-torch", "loop"},
    {"adamw_torch_8bit", "adamw-8bit", "fused"}, /* of torchao: see note_torchao */
    {"adamw_torch_4bit", "adamw-8bit", "fused"},
    {"torchao.optim.AdamW8bit", "adamw-8bit", "fused"},
    {"torchao.optim.AdamW4bit", "adamw-8bit", "fused"},
    {"torchao.optim.AdamWFp8", "adamw-8bit", "fused"},
    {"bitsandbytes.optim.AdamW8bit", "adamw-8bit", "fused"},
    {"bitsandbytes.optim.PagedAdamW", "paged-adamw", "fused"},
    {"bitsandbytes.optim.PagedAdamW8bit", "paged-adamw-8bit", "fused"},
};
enum { OPTIMIZER_COUNT = sizeof optimizers / sizeof optimizers[0] };

static const char *default_optimizer(const ms_training_reading *r)
{
    enum { FIRST_FUSED_MINOR = 8 };
    bool older =
        ms_run_field_is_set(r->draft, "torch") && r->draft->run.torch_minor < FIRST_FUSED_MINOR;
    if (r->file.format == MS_TRAINING_AXOLOTL)
        return "adamw_torch_fused";
    if (r->file.format == MS_TRAINING_TORCHTUNE || r->file.format == MS_TRAINING_V1)
        return "torch.optim.AdamW";
    return older ? "adamw_torch" : "adamw_torch_fused";
}

static ms_status fail_optimizer(ms_training_reading *r, const char *name)
{
    char hint[96];
    ms_nearest nearest = ms_nearest_same(name);
    for (size_t i = 0; i < OPTIMIZER_COUNT; i++)
        ms_nearest_offer(&nearest, optimizers[i].name);
    return ms_training_fail(r, MS_TOPIC_OPTIMIZER, "optimizer '%.60s' is not supported%s", name,
                            ms_nearest_hint(&nearest, hint, sizeof hint));
}

/* PyTorch's own choice is foreach on a GPU, a loop on the CPU. */
static const char *default_impl(const ms_training_reading *r)
{
    bool on_cpu = ms_run_field_is_set(r->draft, "device") && ms_name_equal(r->draft->device, "cpu");
    return on_cpu ? "loop" : "foreach";
}

/* ---- torchao ---- */

static bool is_torchao(const char *name)
{
    static const char module[] = "torchao.";
    return strcmp(name, "adamw_torch_8bit") == 0 || strcmp(name, "adamw_torch_4bit") == 0 ||
           strncmp(name, module, sizeof module - 1) == 0;
}

static bool divides(const ms_training_reading *r)
{
    return r->ranks != MS_PARALLEL_NONE && r->ranks != MS_PARALLEL_DDP;
}

/* Its states have as many bits in blocks of other sizes, and it steps in compiled kernels. */
static ms_status note_torchao(ms_training_reading *r, const char *name)
{
    if (!is_torchao(name))
        return MS_OK;
    return divides(r) ? ms_training_leave_out(r, MS_TOPIC_OPTIMIZER, MS_EFFECT_SAVES,
                                              "torchao's optimizer; the figures are of AdamW")
                      : ms_training_leave_out(r, MS_TOPIC_OPTIMIZER, MS_EFFECT_EITHER,
                                              "torchao's optimizer; the figures are of "
                                              "bitsandbytes' in 8 bits");
}

ms_status ms_training_set_optimizer(ms_training_reading *r)
{
    const char *name = ms_training_text(r, MS_TOPIC_OPTIMIZER, default_optimizer(r));
    size_t i = 0;
    double momentum = 0;
    if (ms_run_field_is_set(r->draft, "optimizer"))
        return MS_OK;
    while (i < OPTIMIZER_COUNT && strcmp(optimizers[i].name, name) != 0)
        i++;
    if (i == OPTIMIZER_COUNT)
        return fail_optimizer(r, name);
    const char *optimizer = optimizers[i].optimizer, *impl = optimizers[i].impl;
    if (is_torchao(name) && divides(r))
        optimizer = "adamw"; /* ranks that divide the weights have no other */
    if (r->file.given[MS_TOPIC_MOMENTUM])
        (void)ms_json_get_number(r->file.values[MS_TOPIC_MOMENTUM], 0, 1, &momentum, NULL);
    if (momentum > 0 && strcmp(optimizer, "sgd") == 0)
        optimizer = "sgd-momentum";
    if (!impl)
        impl = ms_training_flag(r, MS_TOPIC_FUSED, false) ? "fused" : default_impl(r);
    ms_status status = ms_training_offer(r, "optimizer", optimizer, MS_TOPIC_OPTIMIZER);
    if (status == MS_OK)
        status = ms_training_offer(r, "optimizer-impl", impl, MS_TOPIC_OPTIMIZER);
    return status == MS_OK ? note_torchao(r, name) : status;
}
