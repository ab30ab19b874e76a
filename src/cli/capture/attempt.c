/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/capture/attempt.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/capture/program.h"
#include "cli/capture/ledger_report.h"
#include "cli/capture/records.h"
#include "cli/capture/scratch.h"
#include "cli/output/file.h"
#include "cli/output/message.h"
#include "cli/output/terminal.h"

enum { PATH_BYTES = 4096 };

/* ---- what the program left ---- */

static const char modules[] = "modules"; /* of module_info, without a step */

static const struct outcome {
    const char *name, *sentence;
    ms_status status;
} outcomes[] = {
    {"stepped", NULL, MS_OK},
    {"few_steps", NULL, MS_OK},
    {"ready", NULL, MS_OK},
    {"served", NULL, MS_OK},
    {"out_of_memory", "the program ran out of the device's memory", MS_ERR_OVER_BUDGET},
    {"failed", "the program failed before it finished its steps", MS_ERR_USAGE},
    {modules, NULL, MS_OK},
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

static ms_status judge(const ms_recorded *r, const ms_cli_ending *ending, ms_error *err)
{
    const char *message = ms_recorded_message(r), *hint = ms_recorded_hint(r);
    if (strcmp(ms_recorded_outcome(r), modules) == 0 && ending->code != 0)
        return ms_cli_fail(err, MS_ERR_USAGE, "the program exited with status %d", ending->code);
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++)
        if (strcmp(outcomes[i].name, ms_recorded_outcome(r)) == 0)
            return outcomes[i].status == MS_OK
                       ? MS_OK
                       : ms_cli_fail(err, outcomes[i].status, "%s%s%.160s%s%.270s",
                                     outcomes[i].sentence, message ? ": " : "",
                                     message ? message : "", hint ? "; " : "", hint ? hint : "");
    return ms_cli_fail(err, MS_ERR_CONFIG, "unknown outcome %.40s", ms_recorded_outcome(r));
}

static ms_status write_recorded(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_recorded_write(source->recorded, out, err);
}

ms_status ms_cli_show_record(const ms_cli_settings *s, ms_recorded *r, ms_error *err)
{
    ms_style style = ms_cli_style(s->color);
    ms_recorded_set_style(r, &style);
    const ms_cli_source source = {.write = write_recorded, .recorded = r};
    ms_status status = s->quiet ? MS_OK : ms_cli_write_file("-", &source, err);
    if (!s->quiet && strcmp(ms_recorded_outcome(r), "few_steps") == 0)
        fprintf(stderr, "note: the program ended after %llu steps\n",
                (unsigned long long)ms_recorded_steps(r));
    if (!s->quiet && strcmp(ms_recorded_outcome(r), modules) == 0)
        fputs(
            "note: the program took no optimizer step; memscope_torch.module_info ran its model\n",
            stderr);
    return status;
}

bool ms_cli_has_report(const char *out)
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", out, MS_CLI_REPORT_NAME);
    return access(path, F_OK) == 0;
}

/* Not inlined: its path is off the stack while the program runs. */
__attribute__((noinline)) static ms_recorded *load(const char *folder, const char *stem,
                                                   ms_error *err)
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s.json", folder, stem);
    return ms_recorded_load(path, err);
}

/* A report without figures only states how the program failed: it never replaces another. */
static ms_status keep_and_show(ms_cli_attempt *a, ms_recorded *r, const char *stem,
                               const ms_cli_ending *ending, ms_error *err)
{
    ms_status status = MS_OK;
    a->kept = a->rank || ms_recorded_has_figures(r) || !ms_cli_has_report(a->out);
    if (a->kept)
        status = ms_cli_keep_record(a->request.folder, stem, a->out, err);
    if (a->rank)
        ms_rank_read(r, a->rank);
    else if (status == MS_OK)
        status = ms_cli_show_record(a->settings, r, err);
    return status == MS_OK ? judge(r, ending, err) : status;
}

/* ---- the run ---- */

/* When no record came. */
static ms_status explain(const ms_cli_attempt *a, const ms_cli_ending *ending, const char *how,
                         ms_error *err)
{
    const ms_cli_capture_request *request = &a->request;
    const char *program = request->program[0];
    if (access(request->folder, F_OK) != 0)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "the folder of --out was removed while the program ran: no report could "
                           "be written; the program %s",
                           how);
    if (request->device && ms_cli_is_static(program))
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "%.80s is statically linked: no library can be preloaded into it",
                           program);
    if (ending->interrupted)
        return ms_cli_fail(err, MS_ERR_STOPPED, "the capture was interrupted: the program %s", how);
    return ms_cli_fail(err, MS_ERR_USAGE,
                       "found no Python process of %.80s to follow and no use of CUDA; it %s",
                       program, how);
}

/* ---- a program without PyTorch ---- */

static const char ledger_stem[] = "ledger";

static ms_cli_ledger_ending end_of(const ms_cli_ledger *l, const ms_cli_ending *ending,
                                   const ms_cli_capture_request *request,
                                   char how[MS_CLI_HOW_BYTES])
{
    bool has_served = l->spans[MS_CLI_STAGE_SERVE].repeats > 0;
    bool was_stopped = ending->timed_out || ending->interrupted;
    bool has_failed = !was_stopped && (ending->signal || ending->code);
    bool lacks_pools = l->uncovered_pool[0] && l->refused_device < 0;
    const char *stopped = ending->timed_out ? "time_limit" : "interrupted";
    if (ending->timed_out)
        snprintf(how, MS_CLI_HOW_BYTES, "was still running after %llu s",
                 (unsigned long long)request->seconds);
    if (lacks_pools)
        snprintf(how, MS_CLI_HOW_BYTES,
                 "asks for the driver's memory pools (%s), which are not supported",
                 l->uncovered_pool);
    return (ms_cli_ledger_ending){
        .outcome = has_failed    ? (l->refused_device >= 0 ? "out_of_memory" : "crashed")
                   : lacks_pools ? "crashed"
                   : was_stopped && !has_served ? stopped
                                                : "served",
        .how = has_failed || was_stopped || lacks_pools ? how : NULL,
        .was_running = was_stopped && has_served};
}

/* Writes the record of what the device saw; false when no process used it. */
static bool record_ledger(const ms_cli_capture_request *request, const ms_cli_ending *ending,
                          char how[MS_CLI_HOW_BYTES], ms_error *err)
{
    ms_cli_ledger *ledger = request->device ? ms_cli_ledger_read(request->folder) : NULL;
    if (!ledger)
        return false;
    const ms_cli_ledger_ending end = end_of(ledger, ending, request, how);
    ms_status status = ms_cli_ledger_write(ledger, request, &end, ledger_stem, err);
    free(ledger);
    return status == MS_OK;
}

static ms_status run_in(ms_cli_attempt *a, ms_error *err)
{
    ms_cli_ending ending = {0};
    ms_status status = ms_cli_run_program(&a->request, &ending, err);
    if (status != MS_OK)
        return status;
    const char *outcome = ending.timed_out     ? "time_limit"
                          : ending.interrupted ? "interrupted"
                                               : "crashed";
    char how[MS_CLI_HOW_BYTES], stem[MS_CLI_STEM_BYTES];
    ms_cli_describe(&ending, &a->request, how);
    ms_error fault = {0};
    const char *kept = stem;
    bool is_found = ms_cli_find_record(a->request.folder, outcome, how, stem);
    ms_recorded *r = is_found ? load(a->request.folder, stem, &fault) : NULL;
    if (!ms_recorded_has_figures(r) && !a->rank && record_ledger(&a->request, &ending, how, err)) {
        ms_recorded_free(r);
        kept = ledger_stem;
        r = load(a->request.folder, kept, err);
    } else if (is_found && !r && err->status == MS_OK) {
        *err = fault;
    }
    if (r && err->status == MS_OK)
        keep_and_show(a, r, kept, &ending, err);
    else if (err->status == MS_OK)
        explain(a, &ending, how, err);
    ms_recorded_free(r);
    return err->status;
}

ms_status ms_cli_attempt_run(ms_cli_attempt *a, ms_error *err)
{
    ms_cli_scratch scratch;
    ms_status status = ms_cli_scratch_make(a->out, &scratch, err);
    if (status != MS_OK)
        return status;
    a->request.folder = scratch.path;
    status = run_in(a, err);
    ms_cli_scratch_remove(&scratch);
    return status;
}
