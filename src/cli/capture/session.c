/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/capture/session.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/capture/executable.h"
#include "cli/capture/program.h"
#include "cli/capture/records.h"
#include "cli/capture/scratch.h"
#include "cli/output/file.h"
#include "cli/output/guard.h"
#include "cli/output/message.h"
#include "cli/output/place.h"
#include "cli/output/terminal.h"
#include "cli/parse/command.h"
#include "memscope/recorded.h"

enum { DEFAULT_STEPS = 3, DEFAULT_SECONDS = 600, PATH_BYTES = 4096, TEXT_BYTES = 128 };
enum { NODE_DEVICES = 8 };
static const char default_device[] = "a100-80gb", default_out[] = "memscope-capture";

/* ---- what the program left ---- */

static const struct outcome {
    const char *name, *sentence;
    ms_status status;
} outcomes[] = {
    {"stepped", NULL, MS_OK},
    {"few_steps", NULL, MS_OK},
    {"ready", NULL, MS_OK},
    {"out_of_memory", "the program ran out of the device's memory", MS_ERR_OVER_BUDGET},
    {"failed", "the program failed before it had finished its steps", MS_ERR_USAGE},
    {"no_step", "the program ended without an optimizer step", MS_ERR_USAGE},
    {"no_device", "the program ended without using the device: it does not ask for \"cuda\"",
     MS_ERR_USAGE},
    {"no_gpu", "PyTorch finds no GPU here; without --real the program gets a simulated one",
     MS_ERR_USAGE},
    {"no_torch", "the program ended without importing torch", MS_ERR_USAGE},
    {"interrupted", "the capture was interrupted", MS_ERR_STOPPED},
    {"crashed", "the capture is incomplete", MS_ERR_USAGE},
    {"time_limit", "the capture is incomplete", MS_ERR_USAGE},
};

static ms_status judge(const ms_recorded *r, ms_error *err)
{
    const char *message = ms_recorded_message(r), *hint = ms_recorded_hint(r);
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++)
        if (strcmp(outcomes[i].name, ms_recorded_outcome(r)) == 0)
            return outcomes[i].status == MS_OK
                       ? MS_OK
                       : ms_cli_fail(err, outcomes[i].status, "%s%s%.160s%s%.200s",
                                     outcomes[i].sentence, message ? ": " : "",
                                     message ? message : "", hint ? "; " : "", hint ? hint : "");
    return ms_cli_fail(err, MS_ERR_CONFIG, "unknown outcome %.40s", ms_recorded_outcome(r));
}

static ms_status write_recorded(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_recorded_write(source->recorded, out, err);
}

static ms_status write_console(const ms_cli_settings *s, ms_recorded *r, ms_error *err)
{
    ms_style style = ms_cli_style(s->color);
    ms_recorded_set_style(r, &style);
    const ms_cli_source source = {.write = write_recorded, .recorded = r};
    ms_status status = s->quiet ? MS_OK : ms_cli_write_file("-", &source, err);
    if (!s->quiet && strcmp(ms_recorded_outcome(r), "few_steps") == 0)
        fprintf(stderr, "note: the program ended after %llu steps\n",
                (unsigned long long)ms_recorded_steps(r));
    return status;
}

static bool has_report(const char *out)
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", out, MS_CLI_REPORT_NAME);
    return access(path, F_OK) == 0;
}

/* A report without figures only states how the program failed: it never replaces another.
 * Not inlined: its path is off the stack while the program runs. */
__attribute__((noinline)) static ms_status keep_and_show(const ms_cli_settings *s,
                                                         const char *folder, const char *stem,
                                                         const char *out, bool *kept, ms_error *err)
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s.json", folder, stem);
    ms_recorded *r = ms_recorded_load(path, err);
    if (!r)
        return err->status;
    ms_status status = MS_OK;
    *kept = ms_recorded_has_figures(r) || !has_report(out);
    if (*kept)
        status = ms_cli_keep_record(folder, stem, out, err);
    if (status == MS_OK)
        status = write_console(s, r, err);
    if (status == MS_OK)
        status = judge(r, err);
    ms_recorded_free(r);
    return status;
}

/* ---- one run ---- */

/* Of one rank's node, unless it is given. */
static uint64_t device_count(const ms_cli_settings *s)
{
    if (s->device_count)
        return s->device_count;
    return s->ranks == 0 ? 1 : s->ranks < NODE_DEVICES ? s->ranks : NODE_DEVICES;
}

/* scripts/memscope_torch/engine.py leaves a file of an engine's core. */
static bool is_engine(const char *folder)
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/core.engine", folder);
    return access(path, F_OK) == 0;
}

/* How it ended, behind the words "the program". */
static void describe(const ms_cli_ending *ending, const ms_cli_capture_request *request,
                     char how[TEXT_BYTES])
{
    if (ending->timed_out && is_engine(request->folder))
        snprintf(how, TEXT_BYTES, "was not ready to serve after %llu s (--time-limit)",
                 (unsigned long long)request->seconds);
    else if (ending->timed_out)
        snprintf(how, TEXT_BYTES, "took no %llu optimizer steps in %llu s",
                 (unsigned long long)request->steps, (unsigned long long)request->seconds);
    else if (ending->interrupted)
        snprintf(how, TEXT_BYTES, "was sent signal %d (%.40s)", ending->interrupted,
                 strsignal(ending->interrupted));
    else if (ending->signal)
        snprintf(how, TEXT_BYTES, "was ended by signal %d (%.40s)", ending->signal,
                 strsignal(ending->signal));
    else
        snprintf(how, TEXT_BYTES, "exited with status %d", ending->code);
}

/* When no record came. */
static ms_status explain(const ms_cli_settings *s, const ms_cli_capture_request *request,
                         const ms_cli_ending *ending, const char *how, ms_error *err)
{
    if (access(request->folder, F_OK) != 0)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "the folder of --out was removed while the program ran: no report could "
                           "be written; the program %s",
                           how);
    if (request->device && ms_cli_is_static(s->program[0]))
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "%.80s is statically linked: no library can be preloaded into it",
                           s->program[0]);
    return ms_cli_fail(err, ending->interrupted ? MS_ERR_STOPPED : MS_ERR_USAGE,
                       "found no Python process of %.80s to follow; it %s", s->program[0], how);
}

static ms_status run_in(const ms_cli_settings *s, const ms_cli_capture_request *request,
                        const char *out, bool *kept, ms_error *err)
{
    ms_cli_ending ending = {0};
    ms_status status = ms_cli_run_program(request, &ending, err);
    if (status != MS_OK)
        return status;
    const char *outcome = ending.timed_out     ? "time_limit"
                          : ending.interrupted ? "interrupted"
                                               : "crashed";
    char how[TEXT_BYTES], stem[MS_CLI_STEM_BYTES];
    describe(&ending, request, how);
    return ms_cli_find_record(request->folder, outcome, how, stem)
               ? keep_and_show(s, request->folder, stem, out, kept, err)
               : explain(s, request, &ending, how, err);
}

/* What cannot go together, or cannot be done here. */
static ms_status check(const ms_cli_settings *s, ms_error *err)
{
    const char *unfit = s->device         ? "device"
                        : s->loss         ? "answer-loss"
                        : s->ranks        ? "world"
                        : s->device_count ? "device-count"
                                          : NULL;
    const char *rank = getenv("RANK");
    if (s->is_real && unfit)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "--real uses this machine's GPU and its values: leave out --%s", unfit);
    if (s->ranks && rank && strcmp(rank, "0") != 0)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "RANK is %.20s, but --world runs rank 0 only: unset RANK", rank);
    ms_status status = ms_cli_check_environment(err);
    return status == MS_OK ? ms_cli_check_program(s->program[0], !s->is_real, err) : status;
}

static ms_status capture_into(const ms_cli_settings *s, const char *out,
                              const ms_device_facts *device, bool *kept, ms_error *err)
{
    ms_cli_held_signals signals;
    ms_cli_scratch scratch;
    ms_cli_hold_signals(&signals);
    ms_status status = ms_cli_scratch_make(out, &scratch, err);
    if (status == MS_OK) {
        const ms_cli_capture_request request = {.program = s->program,
                                                .device = device,
                                                .folder = scratch.path,
                                                .signals = &signals,
                                                .loss = s->loss,
                                                .device_count = device_count(s),
                                                .ranks = s->ranks,
                                                .traces_calls = s->traces_calls,
                                                .writes_trace = s->writes_trace,
                                                .hides_paths = s->hides_paths,
                                                .steps = s->step ? s->step : DEFAULT_STEPS,
                                                .seconds =
                                                    s->seconds ? s->seconds : DEFAULT_SECONDS};
        status = run_in(s, &request, out, kept, err);
        ms_cli_scratch_remove(&scratch);
    }
    ms_cli_release_signals(&signals);
    return status;
}

/* What the program is given may be what the record would replace. */
static ms_status check_places(const ms_cli_settings *s, const char *out, ms_error *err)
{
    ms_cli_targets targets = {.count = 0};
    ms_status status = MS_OK;
    for (char **word = s->program; *word && status == MS_OK; word++)
        if (strcmp(*word, "-") != 0)
            status = ms_cli_guard_input(*word, err);
    ms_cli_add_records(&targets, out);
    return status == MS_OK ? ms_cli_targets_check(&targets, err) : status;
}

static ms_status run(const ms_cli_settings *s, const char *out, bool *kept, ms_error *err)
{
    ms_device_facts device;
    ms_status status = check(s, err);
    if (status == MS_OK && !s->is_real)
        status = ms_device_find(s->device ? s->device : default_device, &device, err);
    if (status == MS_OK && strlen(out) > PATH_BYTES / 2)
        status = ms_cli_fail(err, MS_ERR_USAGE, "--out: the name is too long");
    if (status == MS_OK)
        status = check_places(s, out, err);
    if (status == MS_OK)
        status = ms_cli_make_directory(out, err);
    return status == MS_OK ? capture_into(s, out, s->is_real ? NULL : &device, kept, err) : status;
}

int ms_cli_capture_program(const ms_cli_settings *s, ms_error *err)
{
    const char *out = s->directory ? s->directory : default_out;
    bool kept = false;
    if (!s->program || !s->program[0])
        ms_cli_fail(err, MS_ERR_USAGE, "no program: capture -- python train.py");
    else
        run(s, out, &kept, err);
    int code = err->status == MS_OK ? EXIT_FITS : ms_cli_complain(err);
    if (!s->quiet && !kept && has_report(out))
        fprintf(stderr, "note: %s/%s is from an earlier run\n", out, MS_CLI_REPORT_NAME);
    return code;
}
