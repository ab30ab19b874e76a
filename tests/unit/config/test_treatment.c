/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/treatment/treatment.h"

#include <string.h>

#include "unit/support.h"

enum { LAYERS = 12 };

typedef struct text_case {
    const char *label, *text;
    const char *expected; /* as ms_treatments_text writes it for 12 layers; NULL: refused */
    const char *reason;   /* part of the refusal */
} text_case;

/* clang-format off */
static const text_case cases[] = {
    {"one kind", "all=checkpoint", "0-11=checkpoint", NULL},
    {"the issue's example", "first:8=checkpoint,8-11=offload:0.5", "0-7=checkpoint,8-11=offload:0.5", NULL},
    {"a list of layers", "0,2,5-9=tile:4", "0=tile:4,2=tile:4,5-9=tile:4", NULL},
    {"later ones win", "all=checkpoint,last:2=keep", "0-9=checkpoint", NULL},
    {"stride", "every:6=checkpoint", "0=checkpoint,6=checkpoint", NULL},
    {"loss", "loss=chunk:8", "loss=chunk:8", NULL},
    {"everything kept", "all=keep", "", NULL},
    {"operators", "3=selective:mm+silu#1", "3=selective:mm+silu#1", NULL},
    {"ATen's names", "3=selective:_scaled_dot_product_flash_attention+_to_copy", "3=selective:flash_attention+to", NULL},
    {"operators and tiles", "3=selective:mm+tile:2", "3=selective:mm+tile:2", NULL},
    {"tiles behind another", "0-1=checkpoint+tile:16", "0-1=checkpoint+tile:16", NULL},
    {"an input on the host", "0=checkpoint+offload,1=checkpoint+save_on_cpu", "0=checkpoint+offload,1=checkpoint+save_on_cpu", NULL},
    {"operators, an input on the host and tiles", "3=selective:mm+offload+silu+tile:2", "3=selective:mm+silu+offload+tile:2", NULL},
    {"a share and an input on the host", "3=selective:0.5+save_on_cpu", "3=selective:0.5+save_on_cpu", NULL},
    {"attention's tiles", "all=tile-attention:8,0=offload:1+tile-attention:2", "0=offload:1+tile-attention:2,1-11=tile-attention:8", NULL},
    {"tiles of both", "1=checkpoint+tile-attention:4+tile:2,2=tile:4+tile-attention:8", "1=checkpoint+tile:2+tile-attention:4,2=tile:4+tile-attention:8", NULL},
    {"a share", "1=selective:0.25", "1=selective:0.25", NULL},
    {"shares to six places", "1=offload:0.1234567", "1=offload:0.123457", NULL},
    {"all of it", "1=offload:1.0", "1=offload:1", NULL},
    {"nothing", "", NULL, "the value is empty"},
    {"no treatment", "all", NULL, "is not LAYERS=TREATMENT"},
    {"no layers", "=checkpoint", NULL, "is not LAYERS=TREATMENT"},
    {"unknown", "all=chekpoint", NULL, "'chekpoint' is not a treatment"},
    {"a share of nothing", "all=offload:0", NULL, "'offload:0' is not a treatment"},
    {"more than all", "all=offload:1.5", NULL, "is not a treatment"},
    {"no number", "all=offload:x", NULL, "is not a treatment"},
    {"too many decimals", "all=offload:0.1234567890", NULL, "is not a treatment"},
    {"an MLP", "all=checkpoint-mlp,1-2=checkpoint-mlp+tile-attention:2", "0=checkpoint-mlp,1-2=checkpoint-mlp+tile-attention:2,3-11=checkpoint-mlp", NULL},
    {"an MLP behind another", "all=checkpoint+checkpoint-mlp", NULL, "is not a treatment"},
    {"an MLP in tiles as well", "all=checkpoint-mlp+tile:2", NULL, "is not a treatment"},
    {"an MLP and an offload", "all=checkpoint-mlp+offload", NULL, "is not a treatment"},
    {"norms", "all=checkpoint-norms,2-11=keep,3=checkpoint-norms", "0-1=checkpoint-norms,3=checkpoint-norms", NULL},
    {"norms and an MLP", "0=checkpoint-mlp+checkpoint-norms", "0=checkpoint-mlp+checkpoint-norms", NULL},
    {"norms and tiles", "0=checkpoint-norms+tile:2,1=tile-attention:4+checkpoint-norms", "0=checkpoint-norms+tile:2,1=checkpoint-norms+tile-attention:4", NULL},
    {"norms of a kept layer", "0=keep+checkpoint-norms", "0=checkpoint-norms", NULL},
    {"norms in a checkpoint", "all=checkpoint+checkpoint-norms", NULL, "is not a treatment"},
    {"norms in a selective checkpoint", "all=selective:mm+checkpoint-norms", NULL, "is not a treatment"},
    {"norms and an offload", "all=offload:1+checkpoint-norms", NULL, "is not a treatment"},
    {"norms twice", "all=checkpoint-norms+checkpoint-norms", NULL, "is not a treatment"},
    {"an MLP behind norms", "all=checkpoint-norms+checkpoint-mlp", NULL, "is not a treatment"},
    {"norms in pieces", "all=checkpoint-norms:2", NULL, "is not a treatment"},
    {"one tile", "all=tile:1", NULL, "is not a treatment"},
    {"two tiles", "all=tile:2+tile:4", NULL, "is not a treatment"},
    {"attention's tiles twice", "all=tile-attention:2+tile-attention:4", NULL, "is not a treatment"},
    {"one tile of attention", "all=tile-attention:1", NULL, "is not a treatment"},
    {"too many tiles", "all=tile:1025", NULL, "is not a treatment"},
    {"two treatments", "all=checkpoint+offload:1", NULL, "'offload:1' is not a treatment"},
    {"an input in two places", "all=checkpoint+offload+save_on_cpu", NULL, "'save_on_cpu' is not a treatment"},
    {"an input that is kept", "all=keep+offload", NULL, "'offload' is not a treatment"},
    {"an input of an offload", "all=offload:1+offload", NULL, "'offload' is not a treatment"},
    {"a place alone", "all=save_on_cpu", NULL, "'save_on_cpu' is not a treatment"},
    {"operators of a share", "all=selective:0.5+mm", NULL, "'mm' is not a treatment"},
    {"an operator's sign", "all=selective:mm-1", NULL, "is not a treatment"},
    {"a comma too many", "all=checkpoint,", NULL, "nothing after the last comma"},
    {"layers alone at the end", "0=checkpoint,3", NULL, "is not LAYERS=TREATMENT"},
    {"no such layers", "some=checkpoint", NULL, "'some' does not name layers"},
    {"past the last", "12=checkpoint", NULL, "layer 12 is beyond the last"},
    {"a loss that is no chunk", "loss=checkpoint", NULL, "'checkpoint' is not a treatment"},
};
/* clang-format on */

static void check_text(void **state)
{
    const text_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_treatment layers[LAYERS] = {{.kind = MS_TREAT_KEEP}},
                 again[LAYERS] = {{.kind = MS_TREAT_KEEP}};
    ms_treatments t = {.layers = layers}, u = {.layers = again};
    ms_error err = {0};
    ms_status status = ms_treatments_check(c->text, &err);
    if (status == MS_OK)
        status = ms_treatments_apply(c->text, arena, LAYERS, &t, &err);
    if (c->expected) {
        assert_int_equal(status, MS_OK);
        const char *text = ms_treatments_text(&t, LAYERS, arena);
        assert_string_equal(text, c->expected);
        /* What was written says the same again. */
        assert_int_equal(ms_treatments_apply(text, arena, LAYERS, &u, &err), MS_OK);
        assert_string_equal(ms_treatments_text(&u, LAYERS, arena), c->expected);
    } else {
        assert_int_not_equal(status, MS_OK);
        if (!strstr(err.text, c->reason))
            fail_msg("%s", err.text);
    }
    ms_arena_free(arena);
}

int main(void)
{
    return run_rows("wording of treatments", check_text, cases);
}
