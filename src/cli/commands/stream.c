/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope stream: inference with weights larger than the device.
 */
#include "memscope/stream.h"

#include <signal.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/output/file.h"
#include "cli/output/guard.h"
#include "cli/output/message.h"
#include "cli/output/terminal.h"
#include "cli/parse/backend.h"
#include "cli/parse/formats.h"
#include "cli/parse/options.h"
#include "cli/parse/run.h"

/* clang-format off */
static const ms_cli_option options[] = {
    {"prefetch", 0,   "LIST", "layers to fetch ahead: 2, 1:8, 1,2,4 or 1:64:*2 [1:8, with --run 1]", MS_CLI_TEXT(prefetch, NULL)},
    {"phase",    0,   "NAME", "prefill (all tokens) or decode (the last one) [decode]", MS_CLI_CHOICE(phase, ms_streaming_phase_at)},
    {"run",      0,   NULL,   "execute passes and compare them with the prediction", MS_CLI_FLAG(executes)},
    {"backend",  0,   "NAME", "with --run: cuda, or host (this machine's memory and threads) [cuda]", .apply = ms_cli_set_backend},
    {"device-index", 0, "N",  "with --run: number of the CUDA device [0]", .apply = ms_cli_set_device_index},
    {"capacity", 0,   "SIZE", "with --run: host memory to use as the device [3/4 of what is free]", .apply = ms_cli_set_capacity},
    {"weights",  0,   "PATH", "with --run: a safetensors file, or a folder of them [generated in memory]", MS_CLI_TEXT(weights, "a file or a folder")},
    {"format",   0,   "NAME", NULL, .apply = ms_cli_set_format},
    {"file",     'o', "FILE", "output file; - is standard output", MS_CLI_PATH(file)},
    {"quiet",    'q', NULL,   "print no messages except errors", MS_CLI_FLAG(quiet)},
    MS_CLI_COLOR_ROWS,
    MS_CLI_HELP_ROW,
};

/* What only training has. */
static const char *const of_training[] = {
    "training-args", "launch", "ignore-sharding", "optimizer", "optimizer-impl", "optimizer-in-backward",
    "optimizer-device", "parameter-device", "weight-decay", "accumulate", "grad-accumulation-dtype",
    "clip", "label-smoothing", "logits-to-keep", "empty-cache-steps", "eval-batch", "eval-logits",
    "source-length",
    "checkpointing", "treat", "plan", "checkpoint-kind", "upcast", NULL,
};
/* clang-format on */

static const ms_cli_fields field_lists[] = {
    {.list = ms_run_fields, .set = ms_cli_set_run, .without = of_training},
    {.list = NULL},
};

static const ms_cli_grammar grammar = {
    .options = options,
    .fields = field_lists,
    .take_word = ms_cli_take_config,
    .format_at = ms_streaming_format_at,
    .notes =
        "\nThe layers' weights stay on the host and are copied to the device a few layers ahead "
        "of\n"
        "the layer that computes; embeddings, head and cache stay on the device. Times are those\n"
        "of a steady pass, whose last layers already fetch the first layers of the next pass.\n"
        "--run executes passes: the layers' weights are copied from pinned host memory while "
        "other\n"
        "layers compute, and each layer's bytes are compared with the host's when it computes.\n",
};

static ms_status write_table(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_streaming_write(source->data, source->format, out, err);
}

static ms_status write_answer(const ms_cli_settings *s, ms_streaming *streaming, ms_error *err)
{
    ms_style style = ms_cli_style(s->file ? MS_COLOR_NEVER : s->color);
    const ms_cli_source source = {
        .write = write_table, .data = streaming, .format = ms_cli_format(s)};
    ms_streaming_set_style(streaming, &style);
    return ms_cli_write_file(s->file ? s->file : "-", &source, err);
}

/* ---- predicting and running ---- */

static void check_options(const ms_cli_settings *s, ms_error *err)
{
    bool is_for_run = s->backend || s->has_device_index || s->capacity || s->weights;
    if (!s->executes && is_for_run)
        ms_cli_fail(err, MS_ERR_USAGE,
                    "--backend, --device-index, --capacity and --weights work only with --run");
    if (s->executes && strcmp(ms_cli_format(s), "svg") == 0)
        ms_cli_fail(err, MS_ERR_USAGE,
                    "a picture shows the prediction only: choose another format with --run");
    if (s->executes)
        ms_cli_check_backend(s, err);
    if (s->executes && s->file && err->status == MS_OK)
        (void)ms_cli_check_place(s->file, err);
}

static ms_status simulate(const ms_cli_settings *s, ms_streaming *streaming, ms_error *err)
{
    const char *prefetch = s->executes && !s->prefetch ? "1" : s->prefetch;
    const ms_streaming_options how = {.prefetch = prefetch, .phase = s->phase};
    return ms_streaming_simulate(streaming, s->run, &how, err);
}

static void stop(void *streaming)
{
    ms_streaming_stop(streaming);
}

static ms_status execute(const ms_cli_settings *s, ms_streaming *streaming, ms_error *err)
{
    const ms_streaming_run_options how = {.backend = ms_cli_backend(s),
                                          .device_index = s->device_index,
                                          .capacity = s->capacity,
                                          .weights = s->weights};
    ms_cli_stop_on_signal(SIGINT, stop, streaming);
    ms_status status = ms_streaming_run(streaming, &how, err);
    ms_cli_stop_on_signal(SIGINT, NULL, NULL);
    return status;
}

static void say_notes(const ms_cli_settings *s, const ms_streaming *streaming)
{
    const char *note;
    for (size_t i = 0; !s->quiet && (note = ms_streaming_note(streaming, i)) != NULL; i++)
        ms_cli_say("note: %s", note);
}

/* What ran before a failure is written, too, and the failure decides the exit status. */
static int end_run(const ms_cli_settings *s, ms_streaming *streaming, ms_status status,
                   const ms_error *err)
{
    ms_error write_error = {.status = MS_OK};
    bool has_run = ms_streaming_has_run(streaming);
    int code = EXIT_FITS;
    if (has_run && write_answer(s, streaming, &write_error) != MS_OK)
        code = ms_cli_complain(&write_error);
    return status == MS_OK
               ? code
               : ms_cli_complain_of_backend(s, err, has_run, "runs it in this machine's memory");
}

static int answer(const ms_cli_settings *s, ms_streaming *streaming, ms_error *err)
{
    check_options(s, err);
    ms_status status = err->status == MS_OK ? simulate(s, streaming, err) : err->status;
    bool begins = status == MS_OK && s->executes;
    if (begins)
        status = execute(s, streaming, err);
    say_notes(s, streaming);
    if (begins)
        return end_run(s, streaming, status, err);
    if (status == MS_OK)
        status = write_answer(s, streaming, err);
    if (status != MS_OK)
        return ms_cli_complain(err);
    return ms_streaming_fits(streaming) ? EXIT_FITS : EXIT_OVER_BUDGET;
}

static int stream(const ms_cli_settings *s, ms_error *err)
{
    ms_streaming *streaming = ms_streaming_create();
    if (!streaming)
        return ms_cli_no_memory();
    int code = answer(s, streaming, err);
    ms_streaming_free(streaming);
    return code;
}

static int run(const ms_cli_call *call)
{
    return ms_cli_run_with_run(call, stream);
}

static const char *const examples[] = {
    "memscope stream llama-3.1-8b --device rtx-4090 --seq 4096 --phase prefill",
    "memory and times with 1 to 8 layers ahead, and how many layers ahead hide the copies",
    "memscope stream llama-3.1-8b --device rtx-4090 --prefetch 1:16:*2 -o stream.svg",
    "decoding, as a picture",
    "memscope stream smollm2-135m --seq 64 --run --backend host --capacity 200MiB",
    "executed in this machine's memory, without a GPU",
    "memscope stream ./my-model --device rtx-4090 --run --weights ./my-model --prefetch 2",
    "executed on a GPU, with the weights of the model's files",
    NULL,
};

static const char outcomes[] =
    "  0   it fits with at least one number of layers ahead, even if only just (tight)\n"
    "  1   it fits with none of them\n"
    "  With --run:\n"
    "  0   it ran\n"
    "  1   the device ran out of memory; what ran by then is written\n"
    "  130 interrupted (Ctrl-C); what ran by then is written\n";

const ms_cli_command ms_cli_stream = {
    .name = "stream",
    .arguments = "[OPTION...] [CONFIG]",
    .help = "Predict inference with weights streamed from the host.",
    .examples = examples,
    .grammar = &grammar,
    .outcomes = outcomes,
    .run = run,
};
