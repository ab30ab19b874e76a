/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/capture/check_with.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/capture/program.h"
#include "cli/capture/records.h"
#include "cli/output/file.h"
#include "cli/output/message.h"

enum { PATH_BYTES = 4096, SENTENCE_BYTES = 200, NUMBER_BYTES = 24 };
static const char script_name[] = "from_report.py", default_python[] = "python3";
extern char **environ;

enum { MOST_WORDS = 16 };

/* A command line; `is_whole` is false if it did not fit. */
typedef struct command {
    char text[4 * PATH_BYTES], *words[MOST_WORDS + 1];
    size_t used;
    int count;
    bool is_whole;
} command;

static void add_words(command *c, const char *const *words)
{
    for (; *words; words++) {
        size_t length = strlen(*words) + 1;
        c->is_whole = c->is_whole && c->count < MOST_WORDS && length <= sizeof c->text - c->used;
        if (!c->is_whole)
            return;
        c->words[c->count++] = memcpy(c->text + c->used, *words, length);
        c->used += length;
    }
}

/* Runs the words of all lists. Its exit status, 128 with a signal's number; what it prints goes to
 * `said`, or nowhere. */
static ms_status run(const char *const *const *lists, int *code, char *said, size_t size,
                     ms_error *err)
{
    posix_spawn_file_actions_t actions;
    command c = {.is_whole = true};
    int ends[2], status = 0;
    pid_t child;
    for (; *lists; lists++)
        add_words(&c, *lists);
    if (!c.is_whole)
        return ms_cli_fail(err, MS_ERR_USAGE, "a name is too long");
    if (pipe(ends) != 0)
        return ms_cli_fail(err, MS_ERR_IO, "cannot start %.80s: %s", c.words[0], strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (ends[1] != STDOUT_FILENO)
        posix_spawn_file_actions_addclose(&actions, ends[1]);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    int reason = posix_spawnp(&child, c.words[0], &actions, NULL, c.words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t used = 0;
    char rest[256] = "";
    for (ssize_t got = 1; reason == 0 && (got > 0 || errno == EINTR);) {
        bool is_kept = used + 1 < size;
        got = read(ends[0], is_kept ? said + used : rest, is_kept ? size - 1 - used : sizeof rest);
        used += is_kept && got > 0 ? (size_t)got : 0;
        if (got == 0)
            break;
    }
    said[used] = '\0';
    close(ends[0]);
    if (reason != 0)
        return ms_cli_fail(err, MS_ERR_USAGE, "cannot run %.80s: %s", c.words[0], strerror(reason));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    *code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return MS_OK;
}

/* Whether Python has what it takes, and the step is one that is run here. */
static ms_status look(const char *python, const char *script, const char *report, ms_error *err)
{
    char said[SENTENCE_BYTES] = "";
    const char *const words[] = {python, script, report, "--look", NULL};
    const char *const *const lists[] = {words, NULL};
    int code = 0;
    ms_status status = run(lists, &code, said, sizeof said, err);
    if (status == MS_OK && (code != 0 || *said))
        status = ms_cli_fail(err, MS_ERR_USAGE, "--check-with capture: %.180s",
                             *said ? said : "Python failed");
    return status;
}

static ms_status capture(const char *python, const char *script, const char *folder,
                         const char *report, const ms_analysis *analysis, bool *ran_out,
                         ms_error *err)
{
    char said[SENTENCE_BYTES] = "", worlds[NUMBER_BYTES], ranks[NUMBER_BYTES];
    uint64_t rank = 0, world = ms_analysis_world(analysis, &rank);
    snprintf(worlds, sizeof worlds, "%" PRIu64, world);
    snprintf(ranks, sizeof ranks, "%" PRIu64, rank);
    const char *device = ms_analysis_device(analysis);
    const char *const start[] = {"/proc/self/exe", "capture", "--device", device,
                                 "--out",          folder,    "-q",       NULL};
    const char *const of_many[] = {"--world", worlds, "--rank", ranks, NULL};
    const char *const none[] = {NULL};
    const char *const program[] = {"--", python, script, report, NULL};
    const char *const *const lists[] = {start, world > 1 ? of_many : none, program, NULL};
    int code = 0;
    ms_status status = run(lists, &code, said, sizeof said, err);
    *ran_out = code == ms_status_exit_code(MS_ERR_OVER_BUDGET);
    if (status == MS_OK && code != 0 && !*ran_out)
        status = ms_cli_fail(err, MS_ERR_USAGE,
                             "--check-with capture: the step was not captured, see above");
    return status;
}

static ms_status write_compare(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_compare_write(source->recorded, source->second, "console", out, err);
}

static ms_status compare(const ms_cli_settings *s, const char *predicted, const char *measured,
                         ms_error *err)
{
    ms_recorded *first = ms_cli_read_record(predicted, err);
    ms_recorded *second = first ? ms_cli_read_record(measured, err) : NULL;
    if (second) {
        ms_style style = ms_cli_style(s->color);
        const ms_cli_source source = {.write = write_compare, .recorded = first, .second = second};
        ms_recorded_set_style(second, &style);
        if (!s->quiet)
            fputc('\n', stdout);
        ms_cli_write_file("-", &source, err);
    }
    ms_recorded_free(first);
    ms_recorded_free(second);
    return err->status;
}

ms_status ms_cli_check_with_capture(const ms_cli_settings *s, const char *folder,
                                    const ms_analysis *analysis, ms_error *err)
{
    char script[PATH_BYTES], predicted[PATH_BYTES], measured[PATH_BYTES];
    const char *python = s->python ? s->python : default_python;
    ms_status status = ms_cli_find_script(script_name, script, sizeof script, err);
    if (status == MS_OK && strlen(folder) + 32 > PATH_BYTES)
        status = ms_cli_fail(err, MS_ERR_USAGE, "--out: the name is too long");
    if (status != MS_OK)
        return status;
    bool ran_out = false;
    snprintf(predicted, sizeof predicted, "%s/static_report.json", folder);
    snprintf(measured, sizeof measured, "%s/runtime_report.json", folder);
    status = look(python, script, predicted, err);
    if (status == MS_OK)
        status = capture(python, script, folder, predicted, analysis, &ran_out, err);
    if (status == MS_OK)
        status = compare(s, predicted, measured, err);
    if (!ran_out || (status != MS_OK && status != MS_ERR_CONFIG)) /* no figures to compare */
        return status;
    *err = (ms_error){0};
    return ms_cli_fail(err, MS_ERR_OVER_BUDGET,
                       "--check-with capture: the step ran out of the device's memory");
}
