/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope infer: what inference needs.
 */
#include "memscope/infer.h"

#include "cli/commands/commands.h"
#include "cli/output/file.h"
#include "cli/output/message.h"
#include "cli/output/terminal.h"
#include "cli/parse/formats.h"
#include "cli/parse/options.h"
#include "cli/parse/run.h"

static ms_status set_field(ms_cli_settings *s, const char *field, const char *value, ms_error *err)
{
    return ms_inference_set(s->inference, field, value, err);
}

static ms_status take_model(ms_cli_settings *s, const char *word, ms_error *err)
{
    if (s->config)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "infer takes one model at a time, but found a second one, '%.40s'",
                           word);
    s->config = ms_cli_cached(word);
    return MS_OK;
}

/* clang-format off */
static const ms_cli_option options[] = {
    {"format",   0,   "NAME", NULL, .apply = ms_cli_set_format},
    {"file",     'o', "FILE", "output file; - is standard output", MS_CLI_PATH(file)},
    {"quiet",    'q', NULL,   "print no messages except errors", MS_CLI_FLAG(quiet)},
    MS_CLI_COLOR_ROWS,
    MS_CLI_HELP_ROW,
};
/* clang-format on */

static const ms_cli_fields field_lists[] = {
    {.list = ms_inference_fields, .set = set_field, .choice_at = ms_inference_field_choice},
    {.list = NULL},
};

static const ms_cli_grammar grammar = {
    .options = options,
    .fields = field_lists,
    .take_word = take_model,
    .format_at = ms_inference_format_at,
    .notes =
        "\nMODEL is a built-in model, a config.json or its folder, or a GGUF file. Safetensors "
        "files\n"
        "in the folder, or the one that is named, are compared with the config. Only the headers "
        "of\n"
        "weight files are read. Figures cover the engine's own allocations.\n"
        "\n"
        "An option takes a list, as those of memscope sweep do: --device all, --quant all,\n"
        "--context 4096:131072:*2, --concurrency 1,4,16. Every combination becomes a row of a "
        "table.\n"
        "--fit WHAT finds the largest value that fits; its own value is ignored then.\n"
        "--engine-fit is different: it shows what llama.cpp's own --fit, on by default, will do.\n",
};

static ms_status write_report(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_inference_write(source->data, source->format, out, err);
}

static int infer(const ms_cli_settings *s, ms_error *err)
{
    ms_style style = ms_cli_style(s->file ? MS_COLOR_NEVER : s->color);
    const ms_cli_source source = {
        .write = write_report, .data = s->inference, .format = ms_cli_format(s)};
    ms_inference_set_style(s->inference, &style);
    ms_status status = s->config ? ms_inference_predict(s->inference, s->config, err)
                                 : ms_cli_fail(err, MS_ERR_USAGE, "no model was given");
    if (status == MS_OK)
        status = ms_cli_write_file(s->file ? s->file : "-", &source, err);
    if (status != MS_OK)
        return ms_cli_complain(err);
    return ms_inference_fits(s->inference) ? EXIT_FITS : EXIT_OVER_BUDGET;
}

static int run(const ms_cli_call *call)
{
    ms_cli_settings settings = {.inference = ms_inference_create()};
    if (!settings.inference)
        return ms_cli_no_memory();
    int code = ms_cli_run(call, &settings, infer);
    ms_inference_free(settings.inference);
    return code;
}

static const char *const examples[] = {
    "memscope infer mixtral-8x7b --quant Q4_K_M --device rtx-4090 --gpus 2 --context 32768",
    "whether it fits two cards, and what fits",
    "memscope infer llama-3.1-70b --quant Q4_K_M --device all",
    "a table of all devices, the smallest first",
    "memscope infer llama-3.1-8b --quant Q8_0 --device rtx-4090 --fit context",
    "the largest context that fits",
    "memscope infer ./model-Q4_K_M.gguf --device rtx-4090 --engine-fit server",
    "what llama-server will run with on this card, by default",
    "memscope infer llama-3.1-8b --quant all --context 4096:131072:*2 --format csv",
    "every combination, one per line",
    "memscope infer ./model-Q4_K_M.gguf --device rtx-4090 --concurrency 4",
    "a file of weights, of which only the header is read",
    "memscope infer ./folder --engine hf",
    "safetensors files beside their config.json",
    "memscope infer llama-3.1-8b --quant Q8_0 --device cpu",
    "on the CPU alone",
    "memscope infer llama-3.1-8b --engine hf --batch 8 --prompt 2048 --generate 256",
    "transformers with a cache of keys and values",
    NULL,
};

static const char outcomes[] =
    "  0   it fits, even if only just, or no budget is known; in a table, at least one row fits\n"
    "  1   it does not fit; in a table, no row fits\n";

const ms_cli_command ms_cli_infer = {
    .name = "infer",
    .arguments = "[OPTION...] MODEL",
    .help = "Predict what inference needs, by engine.",
    .examples = examples,
    .grammar = &grammar,
    .outcomes = outcomes,
    .run = run,
};
