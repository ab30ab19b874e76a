/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a report says it leaves out depends on the run.
 */
#include "unit/support.h"

#include <string.h>

#include "decide/ledger/ledger.h"
#include "input/config/model/model_config.h"

typedef struct note_case {
    const char *label;
    bool is_cpu;
    uint32_t capability, torch_minor;
    ms_attention asked, run;
    const char *says, *does_not_say;
    uint64_t vision_width;
    ms_quantization quantization;
} note_case;

#define AUTO MS_ATTENTION_AUTO
#define FLASH MS_ATTENTION_FLASH
#define CUDNN MS_ATTENTION_CUDNN
#define MATH MS_ATTENTION_MATH

/* clang-format off */
static const note_case cases[] = {
    {"A100",                 false, 80,  11, AUTO,  FLASH, "CUDA context",     "cuDNN attention", 0, {0}},
    {"H100",                 false, 90,  11, AUTO,  CUDNN, "cuDNN attention",  "HIP", 0, {0}},
    {"H100, flash asked",    false, 90,  11, FLASH, FLASH, "CUDA context",     "cuDNN attention", 0, {0}},
    {"H100, math",           false, 90,  11, AUTO,  MATH,  "CUDA context",     "cuDNN attention", 0, {0}},
    {"H100, older torch",    false, 90,  6,  AUTO,  FLASH, "torch 2.11 with",  "cuDNN attention", 0, {0}},
    {"B200",                 false, 100, 11, AUTO,  CUDNN, "cuDNN attention",  "torch 2.11 with", 0, {0}},
    {"B300",                 false, 103, 11, AUTO,  CUDNN, "cuDNN attention",  "torch 2.11 with", 0, {0}},
    {"RTX 5090",             false, 120, 11, AUTO,  FLASH, "CUDA context",     "cuDNN attention", 0, {0}},
    {"AMD",                  false, 0,   11, AUTO,  MATH,  "HIP context",      "CUDA context", 0, {0}},
    {"CPU",                  true,  0,   11, AUTO,  MATH,  "AVX-512",          "context", 0, {0}},
    {"CPU, newer torch",     true,  0,   12, AUTO,  MATH,  "torch 2.11 with",  "device", 0, {0}},
    {"text alone",           false, 80,  11, AUTO,  FLASH, "CUDA context",     "vision tower", 0, {0}},
    {"with a vision tower",  false, 80,  11, AUTO,  FLASH, "the vision tower", "cuDNN attention", 1152, {0}},
    {"int8",                 false, 80,  11, AUTO,  FLASH, "outliers",         "gptq", 0, {.kind = MS_QUANTIZE_INT8}},
    {"gptq",                 false, 80,  11, AUTO,  FLASH, "auto_trainable",   "awq", 0, {.kind = MS_QUANTIZE_GPTQ}},
    {"awq",                  false, 80,  11, AUTO,  FLASH, "auto_trainable",   "gptq", 0, {.kind = MS_QUANTIZE_AWQ}},
    {"fp8",                  false, 90,  11, FLASH, FLASH, "DeepGEMM",         "loading", 0, {.kind = MS_QUANTIZE_FP8_BLOCK}},
    {"fp8, dequantised",     false, 80,  11, AUTO,  FLASH, "loading:",         "DeepGEMM", 0, {.kind = MS_QUANTIZE_FP8_BLOCK, .is_dequantized = true}},
};
/* clang-format on */

static void check_notes(void **state)
{
    const note_case *c = *state;
    const ms_device device = {.is_cpu = c->is_cpu, .compute_capability = c->capability};
    const ms_run_config run = {.device = &device,
                               .attention = c->asked,
                               .torch_major = 2,
                               .torch_minor = c->torch_minor,
                               .quantization = c->quantization};
    const ms_simulation simulation = {.attention = c->run};
    const ms_family family = {.model_type = "llama"};
    const ms_model_config model = {.family = &family, .vision = {.hidden_size = c->vision_width}};
    const ms_ledger ledger = {.model = &model, .run = &run, .simulation = &simulation};
    bool said = false;
    const char *text;
    for (size_t i = 0; (text = ms_ledger_not_modelled(&ledger, i)) != NULL; i++) {
        said = said || strstr(text, c->says);
        if (strstr(text, c->does_not_say))
            fail_msg("said: %s", text);
    }
    assert_true(said);
}

int main(void)
{
    return run_rows("not modelled", check_notes, cases);
}
