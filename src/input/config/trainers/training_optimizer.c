/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The optimizer in files of training settings.
 */
#include "input/config/trainers/training_optimizer.h"

#include <string.h>

#include "base/text/nearest.h"
#include "input/config/run/optimizer.h"
#include "input/config/trainers/training_reading.h"

static const struct {
    const char *name, *optimizer;
    const char *impl;     /* NULL: what PyTorch takes by itself */
    ms_key_effect effect; /* none, unless `optimizer` is another, which stands for it */
} optimizers[] = {
    {"adamw_torch", "adamw", NULL, MS_EFFECT_NONE},
    {"adamw_torch_fused", "adamw", "fused", MS_EFFECT_NONE},
    {"sgd", "sgd", NULL, MS_EFFECT_NONE},
    {"adagrad", "adagrad", NULL, MS_EFFECT_NONE},
    {"rmsprop", "rmsprop", NULL, MS_EFFECT_NONE},
    {"adafactor", "adafactor", "loop", MS_EFFECT_NONE},
    {"adamw_bnb_8bit", "trainer-adamw-8bit", "fused", MS_EFFECT_NONE},
    {"adamw_8bit", "trainer-adamw-8bit", "fused", MS_EFFECT_NONE},
    {"paged_adamw_8bit", "trainer-paged-adamw-8bit", "fused", MS_EFFECT_NONE},
    {"paged_adamw_32bit", "paged-adamw", "fused", MS_EFFECT_NONE},
    {"lion_32bit", "lion", "fused", MS_EFFECT_NONE},
    {"lion_8bit", "trainer-lion-8bit", "fused", MS_EFFECT_NONE},
    {"paged_lion_32bit", "paged-lion", "fused", MS_EFFECT_NONE},
    {"paged_lion_8bit", "trainer-paged-lion-8bit", "fused", MS_EFFECT_NONE},
    {"torch.optim.AdamW", "adamw", NULL, MS_EFFECT_NONE},
    {"torch.optim.Adam", "adam", NULL, MS_EFFECT_NONE},
    {"torch.optim.SGD", "sgd", NULL, MS_EFFECT_NONE},
    {"torch.optim.Adagrad", "adagrad", NULL, MS_EFFECT_NONE},
    {"torch.optim.RMSprop", "rmsprop", NULL, MS_EFFECT_NONE},
    {"torch.optim.Adafactor", "adafactor-torch", "loop", MS_EFFECT_NONE},
    {"bitsandbytes.optim.AdamW8bit", "adamw-8bit", "fused", MS_EFFECT_NONE},
    {"bitsandbytes.optim.PagedAdamW", "paged-adamw", "fused", MS_EFFECT_NONE},
    {"bitsandbytes.optim.PagedAdamW8bit", "paged-adamw-8bit", "fused", MS_EFFECT_NONE},
    /* torchao's have states of as many bits in blocks of other sizes, and step in compiled kernels
     */
    {"adamw_torch_8bit", "adamw-8bit", "fused", MS_EFFECT_EITHER},
    {"adamw_torch_4bit", "adamw-8bit", "fused", MS_EFFECT_EITHER},
    {"ao_adamw_8bit", "adamw-8bit", "fused", MS_EFFECT_EITHER},
    {"ao_adamw_4bit", "adamw-8bit", "fused", MS_EFFECT_EITHER},
    {"ao_adamw_fp8", "adamw-8bit", "fused", MS_EFFECT_EITHER},
    {"torchao.optim.AdamW8bit", "adamw-8bit", "fused", MS_EFFECT_EITHER},
    {"torchao.optim.AdamW4bit", "adamw-8bit", "fused", MS_EFFECT_EITHER},
    {"torchao.optim.AdamWFp8", "adamw-8bit", "fused", MS_EFFECT_EITHER},
    /* two states, or what comes near */
    {"adamw_apex_fused", "adamw", "fused", MS_EFFECT_EITHER},
    {"adamw_anyprecision", "adamw", "loop", MS_EFFECT_EITHER},
    {"optimi_adamw", "adamw", NULL, MS_EFFECT_EITHER},
    {"adopt_adamw", "adamw", NULL, MS_EFFECT_EITHER},
    {"stable_adamw", "adamw", NULL, MS_EFFECT_EITHER},
    {"schedule_free_adamw", "adamw", NULL, MS_EFFECT_EITHER},
    {"schedule_free_radam", "adamw", NULL, MS_EFFECT_EITHER},
    {"flash_adamw", "adamw", "fused", MS_EFFECT_EITHER},
    {"flash_adam", "adam", "fused", MS_EFFECT_EITHER},
    /* one more */
    {"ademamix", "adamw", "fused", MS_EFFECT_ADDS},
    {"paged_ademamix_32bit", "paged-adamw", "fused", MS_EFFECT_ADDS},
    {"ademamix_8bit", "trainer-adamw-8bit", "fused", MS_EFFECT_ADDS},
    {"paged_ademamix_8bit", "trainer-paged-adamw-8bit", "fused", MS_EFFECT_ADDS},
    {"grokadamw", "adamw", "loop", MS_EFFECT_ADDS},
    /* smaller ones, and what makes them */
    {"muon", "adamw", NULL, MS_EFFECT_EITHER},
    {"dion", "adamw", NULL, MS_EFFECT_EITHER},
    {"sinkgd", "adamw", NULL, MS_EFFECT_EITHER},
    {"came_pytorch", "adamw", NULL, MS_EFFECT_EITHER},
    {"galore_adamw", "adamw", NULL, MS_EFFECT_EITHER},
    {"galore_adamw_layerwise", "adamw", NULL, MS_EFFECT_EITHER},
    {"galore_adamw_8bit", "adamw-8bit", "fused", MS_EFFECT_EITHER},
    {"galore_adamw_8bit_layerwise", "adamw-8bit", "fused", MS_EFFECT_EITHER},
    {"q_galore_adamw8bit", "adamw-8bit", "fused", MS_EFFECT_EITHER},
    {"galore_adafactor", "adafactor", "loop", MS_EFFECT_EITHER},
    {"galore_adafactor_layerwise", "adafactor", "loop", MS_EFFECT_EITHER},
    {"apollo_adamw", "adamw", NULL, MS_EFFECT_EITHER},
    {"apollo_adamw_layerwise", "adamw", NULL, MS_EFFECT_EITHER},
    {"rmsprop_bnb", "rmsprop", NULL, MS_EFFECT_EITHER},
    {"rmsprop_bnb_32bit", "rmsprop", NULL, MS_EFFECT_EITHER},
    {"rmsprop_bnb_8bit", "trainer-lion-8bit", "fused", MS_EFFECT_EITHER},
    {"schedule_free_sgd", "sgd-momentum", NULL, MS_EFFECT_EITHER},
    {"flash_sgd", "sgd", NULL, MS_EFFECT_EITHER},
    {"flash_sgdw", "sgd", NULL, MS_EFFECT_EITHER},
    {"flash_lion", "lion", "fused", MS_EFFECT_EITHER},
    {"lomo", "sgd", NULL, MS_EFFECT_EITHER},
    {"adalomo", "sgd", NULL, MS_EFFECT_EITHER},
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

/* PyTorch's own choice is foreach on a GPU, a loop on the CPU. */
static const char *default_impl(const ms_training_reading *r)
{
    return ms_training_on_cpu(r) ? "loop" : "foreach";
}

/* Of an optimizer that ranks which divide the weights have not: what the figures of AdamW in its
 * place are without. Those of bitsandbytes have no more states than AdamW, and no temporaries. */
static ms_key_effect effect_of_dividing(const ms_training_reading *r, const char *optimizer)
{
    for (int i = 0; ms_training_divides(r) && ms_optimizer_names[i]; i++)
        if (strcmp(ms_optimizer_names[i], optimizer) == 0 &&
            !ms_optimizer_traits_of((ms_optimizer_kind)i)->is_everywhere)
            return i >= MS_OPTIMIZER_LION ? MS_EFFECT_SAVES : MS_EFFECT_EITHER;
    return MS_EFFECT_NONE;
}

/* Sets the optimizer, which stands for the file's where it has an effect. Ranks that divide the
 * weights have AdamW in the place of others. */
static ms_status stand_for(ms_training_reading *r, const char *optimizer, const char *impl,
                           ms_key_effect effect)
{
    const char *meaning = "";
    if (effect == MS_EFFECT_NONE)
        effect = effect_of_dividing(r, optimizer);
    const bool is_other = effect != MS_EFFECT_NONE;
    if (is_other && ms_training_divides(r) && strcmp(optimizer, "adamw") != 0) {
        optimizer = "adamw";
        effect = effect == MS_EFFECT_ADDS ? MS_EFFECT_EITHER : effect;
    }
    ms_status status = ms_training_offer(r, "optimizer", optimizer, MS_TOPIC_OPTIMIZER);
    if (status == MS_OK)
        status = ms_training_offer(r, "optimizer-impl", impl, MS_TOPIC_OPTIMIZER);
    if (status == MS_OK && is_other) {
        meaning = ms_arena_printf(r->arena, "the figures are for %s", optimizer);
        status = ms_training_leave_out(r, MS_TOPIC_OPTIMIZER, effect, meaning);
    }
    return status;
}

/* A class of one's own may be any optimizer; what PyTorch and the like do not have is a mistake. */
static ms_status take_unknown(ms_training_reading *r, const char *name)
{
    static const char *const packages[] = {"torch.", "bitsandbytes.", "torchao."};
    char hint[96];
    ms_nearest nearest = ms_nearest_same(name);
    bool is_class = strchr(name, '.') != NULL;
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
        is_class = is_class && strncmp(name, packages[i], strlen(packages[i])) != 0;
    if (is_class)
        return stand_for(r, "adamw", default_impl(r), MS_EFFECT_EITHER);
    for (size_t i = 0; i < OPTIMIZER_COUNT; i++)
        ms_nearest_offer(&nearest, optimizers[i].name);
    return ms_training_fail(r, MS_TOPIC_OPTIMIZER,
                            "optimizer '%.60s' is not supported%s (--optimizer takes another)",
                            name, ms_nearest_hint(&nearest, hint, sizeof hint));
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
        return take_unknown(r, name);
    const char *optimizer = optimizers[i].optimizer, *impl = optimizers[i].impl;
    if (r->file.given[MS_TOPIC_MOMENTUM])
        (void)ms_json_get_number(r->file.values[MS_TOPIC_MOMENTUM], 0, 1, &momentum, NULL);
    if (momentum > 0 && strcmp(optimizer, "sgd") == 0)
        optimizer = "sgd-momentum";
    if (!impl)
        impl = ms_training_flag(r, MS_TOPIC_FUSED, false) ? "fused" : default_impl(r);
    return stand_for(r, optimizer, impl, optimizers[i].effect);
}
