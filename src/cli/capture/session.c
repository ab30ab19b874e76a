/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/capture/session.h"

#include <stdlib.h>
#include <string.h>

#include "cli/capture/attempt.h"
#include "cli/capture/program.h"
#include "cli/capture/ranks.h"
#include "cli/capture/records.h"
#include "cli/output/guard.h"
#include "cli/output/message.h"
#include "cli/output/file.h"
#include "cli/parse/grammar.h"

enum { DEFAULT_STEPS = 3, DEFAULT_SECONDS = 600, PATH_BYTES = 4096 };
enum { NODE_DEVICES = 8 };
static const char default_device[] = "a100-80gb", default_out[] = "memscope-capture";

/* Of one rank's node, unless it is given. */
static uint64_t device_count(const ms_cli_settings *s, const ms_cli_ranks *ranks)
{
    if (s->device_count)
        return s->device_count;
    return ranks->world == 0 ? 1 : ranks->world < NODE_DEVICES ? ranks->world : NODE_DEVICES;
}

/* What cannot go together, or cannot be done here. */
static ms_status check(const ms_cli_settings *s, ms_cli_ranks *ranks, ms_error *err)
{
    const char *unfit = s->device                     ? "device"
                        : s->loss                     ? "answer-loss"
                        : s->ranks                    ? "world"
                        : s->has_rank || s->all_ranks ? "rank"
                        : s->device_count             ? "device-count"
                                                      : NULL;
    if (s->is_real && unfit)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "--real uses this machine's GPU and its values: leave out --%s", unfit);
    if (ms_cli_find_ranks(s, ranks, err) != MS_OK)
        return err->status;
    ms_status status = ms_cli_check_environment(err);
    return status == MS_OK ? ms_cli_check_program(s->program[0], !s->is_real, err) : status;
}

static ms_cli_capture_request request_of(const ms_cli_settings *s, const ms_device_facts *device,
                                         const ms_cli_held_signals *signals)
{
    return (ms_cli_capture_request){.program = s->program,
                                    .device = device,
                                    .signals = signals,
                                    .loss = s->loss,
                                    .traces_calls = s->traces_calls,
                                    .writes_trace = s->writes_trace,
                                    .hides_paths = s->hides_paths,
                                    .steps = s->step ? s->step : DEFAULT_STEPS,
                                    .seconds = s->seconds ? s->seconds : DEFAULT_SECONDS};
}

static ms_status capture_into(const ms_cli_settings *s, const char *out, const ms_cli_ranks *ranks,
                              const ms_device_facts *device, bool *kept, ms_error *err)
{
    ms_cli_held_signals signals;
    ms_cli_hold_signals(&signals);
    ms_cli_attempt attempt = {
        .settings = s, .out = out, .request = request_of(s, device, &signals)};
    attempt.request.device_count = device_count(s, ranks);
    attempt.request.ranks = ranks->world;
    attempt.request.rank = ranks->rank;
    ms_status status =
        ranks->all ? ms_cli_run_ranks(&attempt, err) : ms_cli_attempt_run(&attempt, err);
    *kept = attempt.kept;
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
    ms_cli_ranks ranks;
    ms_status status = check(s, &ranks, err);
    if (status == MS_OK && !s->is_real)
        status = ms_device_find(s->device ? s->device : default_device, &device, err);
    if (status == MS_OK && strlen(out) > PATH_BYTES / 2)
        status = ms_cli_fail(err, MS_ERR_USAGE, "--out: the name is too long");
    if (status == MS_OK)
        status = check_places(s, out, err);
    if (status == MS_OK)
        status = ms_cli_make_directory(out, err);
    return status == MS_OK ? capture_into(s, out, &ranks, s->is_real ? NULL : &device, kept, err)
                           : status;
}

int ms_cli_capture_program(const ms_cli_settings *s, ms_error *err)
{
    const char *out = s->directory ? s->directory : default_out;
    bool kept = false;
    if (!s->program || !s->program[0])
        ms_cli_fail(err, MS_ERR_USAGE, "name a program to run: capture -- python train.py");
    else
        run(s, out, &kept, err);
    int code = err->status == MS_OK ? EXIT_FITS : ms_cli_complain(err);
    if (!s->quiet && !kept && ms_cli_has_report(out))
        fprintf(stderr, "note: %s/%s is from an earlier run\n", out, MS_CLI_REPORT_NAME);
    return code;
}
