/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope analyze: one analysis, then the reports that were asked for, one by one.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static ms_status write_report(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_analysis_write(source->analysis, source->format, out, err);
}

static ms_status write_events(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_analysis_write_events(source->analysis, out, err);
}

static ms_status write_one(ms_analysis *analysis, const char *format, const char *path,
                           ms_error *err)
{
    const ms_cli_source source = {.write = write_report, .analysis = analysis, .format = format};
    return ms_cli_write_file(path, &source, err);
}

/* The console report, then the two files. */
static ms_status write_defaults(const ms_cli_settings *s, ms_analysis *analysis, ms_error *err)
{
    static const char *const formats[] = {"json", "md"};
    const char *directory = s->directory ? s->directory : "reports";
    ms_status status = MS_OK;
    if (!s->quiet)
        status = write_one(analysis, "console", "-", err);
    if (status == MS_OK)
        status = ms_cli_make_directory(directory, err);
    for (size_t i = 0; status == MS_OK && i < sizeof formats / sizeof formats[0]; i++) {
        size_t length = strlen(directory) + 64;
        char *path = malloc(length);
        if (!path)
            return ms_cli_fail(err, MS_ERR_NOMEM, "no memory for a file name");
        snprintf(path, length, "%s/static_report.%s", directory, formats[i]);
        status = write_one(analysis, formats[i], path, err);
        if (status == MS_OK && !s->quiet)
            fprintf(stderr, "%s%s", i ? " and " : "wrote ", path);
        free(path);
    }
    if (status == MS_OK && !s->quiet)
        fputc('\n', stderr);
    return status;
}

/* What -o alone means: the format its name ends in. */
static const char *format_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && ms_report_format_at(i); i++)
        if (strcmp(dot + 1, ms_report_format_at(i)->name) == 0)
            return ms_report_format_at(i)->name;
    return "console";
}

static ms_status write_asked(const ms_cli_settings *s, ms_analysis *analysis, ms_error *err)
{
    ms_status status = MS_OK;
    if (s->format || s->file) {
        const char *path = s->file ? s->file : "-";
        status = write_one(analysis, s->format ? s->format : format_of(path), path, err);
    }
    for (size_t i = 0; status == MS_OK && i < s->output_count; i++)
        status = write_one(analysis, s->outputs[i].format, s->outputs[i].path, err);
    if (status == MS_OK && s->events)
        status = ms_cli_write_file(
            s->events, &(ms_cli_source){.write = write_events, .analysis = analysis}, err);
    return status;
}

/* Colour goes to a terminal, never into a file unless asked for. */
static bool goes_to_stdout(const ms_cli_settings *s)
{
    return !s->file || strcmp(s->file, "-") == 0 || s->color == MS_COLOR_ALWAYS;
}

static ms_status write_reports(const ms_cli_settings *s, ms_analysis *analysis, ms_error *err)
{
    ms_style style = ms_cli_style(goes_to_stdout(s) ? s->color : MS_COLOR_NEVER);
    ms_analysis_set_style(analysis, &style);
    if (s->unroll && ms_analysis_unroll(analysis, err) != MS_OK)
        return err->status;
    bool asked = s->format || s->file || s->output_count || s->events;
    ms_status status = asked ? write_asked(s, analysis, err) : MS_OK;
    if (status == MS_OK && (!asked || s->directory))
        status = write_defaults(s, analysis, err);
    return status;
}

static void print_notes(const ms_analysis *analysis)
{
    const char *note;
    for (size_t i = 0; (note = ms_analysis_note(analysis, i)) != NULL; i++)
        fprintf(stderr, "note: %s\n", note);
}

static int analyze(const ms_cli_settings *s, ms_error *err)
{
    ms_analysis *analysis = ms_analyze(s->run, err);
    if (!analysis)
        return ms_cli_complain(err);
    if (!s->quiet)
        print_notes(analysis);
    ms_status status = write_reports(s, analysis, err);
    bool fits = ms_analysis_summary(analysis)->fits;
    ms_analysis_free(analysis);
    if (status != MS_OK)
        return ms_cli_complain(err);
    return fits ? EXIT_FITS : EXIT_OVER_BUDGET;
}

int ms_cli_analyze(int argc, char **argv)
{
    ms_error err = {.status = MS_OK};
    ms_cli_settings settings = {.run = ms_run_create()};
    int code = EXIT_FITS;
    ms_status status = ms_cli_parse(argc, argv, &settings, &err);
    if (settings.help) {
        ms_cli_print_help(stdout, ms_cli_command_find("analyze"));
    } else if (status != MS_OK) {
        code = ms_cli_complain(&err);
        if (status == MS_ERR_USAGE)
            fputs("Try: memscope help analyze\n", stderr);
    } else {
        code = analyze(&settings, &err);
    }
    ms_run_free(settings.run);
    return code;
}
