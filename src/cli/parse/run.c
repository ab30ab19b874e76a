/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One parser for all commands, driven by the command's grammar.
 */
#include "cli/parse/run.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output/guard.h"
#include "cli/output/message.h"
#include "cli/parse/formats.h"
#include "cli/parse/given.h"
#include "cli/parse/help.h"
#include "cli/parse/options.h"

/* ---- launch ---- */

/* Launches of a training, as options and words of a call. */

/* Writes a word at `text`, and yields where it ends. */
static char *quote(char *text, const char *word)
{
    static const char within[] = "'\\''";
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-./=:,%+";
    size_t length = strlen(word);
    if (length > 0 && strspn(word, plain) == length) {
        memcpy(text, word, length);
        return text + length;
    }
    *text++ = '\'';
    for (; *word; word++)
        if (*word == '\'') {
            memcpy(text, within, sizeof within - 1);
            text += sizeof within - 1;
        } else {
            *text++ = *word;
        }
    *text++ = '\'';
    return text;
}

/* Words between quotes, as a shell reads them, which the caller frees. NULL: out of memory. */
static char *cli_quote(char **words, int count)
{
    size_t bytes = 1;
    for (int i = 0; i < count; i++)
        bytes += 4 * strlen(words[i]) + 3;
    char *text = malloc(bytes), *end = text;
    for (int i = 0; text && i < count; i++) {
        end = quote(end, words[i]);
        *end++ = ' ';
    }
    if (text)
        *(end > text ? end - 1 : end) = '\0';
    return text;
}

/* A launch, "sh FILE", where the word is a shell script that is there, which the caller frees;
 * NULL: it is none, or there is no memory for it. */
static char *cli_script(const char *word)
{
    static const char ending[] = ".sh";
    size_t length = strlen(word), end = sizeof ending - 1;
    bool is_script = length > end && strcmp(word + length - end, ending) == 0;
    if (!is_script || access(word, R_OK) != 0)
        return NULL;
    char sh[] = "sh", *script = strdup(word);
    char *words[] = {sh, script};
    char *text = script ? cli_quote(words, 2) : NULL;
    free(script);
    return text;
}

/* ---- run ---- */

/* One argument taken apart. */
typedef struct word {
    ms_cli_choice choice;
    const char *value;        /* what follows "=" or the letter; NULL when there is nothing */
    char text[48];            /* the name as it was typed */
    int argument;             /* its number, from 1 */
    const ms_run_word *other; /* it is another tool's name of the choice; NULL: its own */
} word;

/* Options of no run have no reasons for what a run lacks. */
static bool has_reasons(const ms_cli_grammar *grammar)
{
    const ms_cli_fields *f = grammar->fields;
    for (; f->list; f++)
        if (f->list == ms_run_fields)
            return true;
    return f == grammar->fields;
}

/* Another tool's name of an option that the grammar has. */
static bool find_other(const ms_cli_grammar *grammar, const char *name, word *w)
{
    for (size_t i = 0; (w->other = ms_run_word_at(i)) != NULL; i++)
        if (strcmp(w->other->word, name) == 0 &&
            ms_cli_find_option(grammar, w->other->field, strlen(w->other->field), &w->choice))
            return true;
    return false;
}

/* With "_" for "-", as trainers write options. */
static bool find_option(const ms_cli_grammar *grammar, word *w)
{
    char name[sizeof w->text];
    snprintf(name, sizeof name, "%s", w->text + 2);
    for (char *p = strchr(name, '_'); p; p = strchr(p, '_'))
        *p = '-';
    return ms_cli_find_option(grammar, name, strlen(name), &w->choice) ||
           find_other(grammar, name, w);
}

/* One letter, which its value may follow, or a word with one dash, as llama.cpp writes them. */
static ms_status read_letters(const ms_cli_grammar *grammar, const char *argument, word *w,
                              ms_error *err)
{
    snprintf(w->text, sizeof w->text, "%s", argument);
    if (find_other(grammar, argument + 1, w))
        return MS_OK;
    if (!ms_cli_find_letter(grammar, argument[1], &w->choice))
        return ms_cli_fail(err, MS_ERR_USAGE, "no option %s", w->text);
    w->text[2] = '\0';
    w->value = argument[2] ? argument + 2 : NULL;
    return MS_OK;
}

static ms_status read_word(const ms_cli_grammar *grammar, const char *argument, word *w,
                           ms_error *err)
{
    char hint[MS_CLI_HINT_BYTES];
    if (argument[1] != '-')
        return read_letters(grammar, argument, w, err);
    const char *name = argument + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    snprintf(w->text, sizeof w->text, "--%.*s", (int)(length < 40 ? length : 40), name);
    w->value = equals ? equals + 1 : NULL;
    if (length <= 40 && find_option(grammar, w))
        return MS_OK;
    const char *why = has_reasons(grammar) ? ms_run_field_missing(w->text + 2) : NULL;
    if (why)
        return ms_cli_fail(err, MS_ERR_USAGE, "no option %s: %s", w->text, why);
    return ms_cli_fail(err, MS_ERR_USAGE, "no option %s%s", w->text,
                       ms_cli_hint(w->text + 2, ms_cli_choice_name, grammar, "--", hint));
}

static ms_status set_choice(const ms_cli_choice *choice, const char *value, ms_cli_settings *s,
                            ms_error *err)
{
    return choice->option ? ms_cli_set_option(s, choice->option, value, err)
                          : choice->fields->set(s, choice->name, value, err);
}

/* Sets what was given. */
static ms_status set_given(const word *w, const char *value, ms_cli_settings *s, ms_error *err)
{
    ms_status status = ms_cli_given_note(s->given, &w->choice, w->text, w->argument, value,
                                         s->of_second != NULL, err);
    return status == MS_OK ? set_choice(&w->choice, value, s, err) : status;
}

/* -1: neither; trainers may give their flags a value, and some say where to or how. */
static int truth_of(const char *text)
{
    static const struct {
        const char *text;
        int truth;
    } texts[] = {{"false", 0},    {"no", 0},   {"0", 0},   {"off", 0}, {"none", 0},
                 {"disabled", 0}, {"true", 1}, {"yes", 1}, {"1", 1},   {"on", 1},
                 {"auto", 1},     {"full", 1}, {"cpu", 1}, {"fa2", 1}, {"sdpa", 1}};
    for (size_t i = 0; text && i < sizeof texts / sizeof texts[0]; i++)
        if (strcasecmp(text, texts[i].text) == 0)
            return texts[i].truth;
    return -1;
}

/* Sets the further fields of a flag, which what is given anywhere overrides. */
static ms_status apply_also(const ms_cli_grammar *grammar, const char *also, bool says_layers,
                            ms_cli_settings *s, ms_error *err)
{
    ms_status status = MS_OK;
    while (*also && status == MS_OK) {
        char name[32], value[64];
        size_t bytes = strcspn(also, " "), equals = strcspn(also, "=");
        ms_cli_choice choice;
        snprintf(name, sizeof name, "%.*s", (int)equals, also);
        snprintf(value, sizeof value, "%.*s", (int)(bytes - equals - 1), also + equals + 1);
        bool is_said = says_layers && strcmp(name, "checkpointing") == 0;
        if (!is_said && ms_cli_find_option(grammar, name, equals, &choice))
            status = set_choice(&choice, value, s, err);
        also += bytes + strspn(also + bytes, " ");
    }
    return status;
}

/* Whether a plan or treatments are given, which checkpoints would contradict. */
static bool says_layers(char **argv, int argc)
{
    static const char *const options[] = {"--plan", "--treat"};
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
            size_t length = strlen(options[k]);
            if (strncmp(argv[i], options[k], length) == 0 &&
                (argv[i][length] == '\0' || argv[i][length] == '='))
                return true;
        }
    return false;
}

/* Those of the arguments up to "--". */
static ms_status apply_all_also(const ms_cli_grammar *grammar, char **argv, int argc,
                                ms_cli_settings *s, ms_error *err)
{
    ms_status status = MS_OK;
    for (int i = 0; i < argc && status == MS_OK && strcmp(argv[i], "--") != 0; i++) {
        word w = {.other = NULL};
        ms_error none = {.status = MS_OK};
        if (argv[i][0] == '-' && read_word(grammar, argv[i], &w, &none) == MS_OK && w.other &&
            w.other->also &&
            truth_of(w.value        ? w.value
                     : i + 1 < argc ? argv[i + 1]
                                    : NULL) != 0)
            status = apply_also(grammar, w.other->also, says_layers(argv, argc), s, err);
    }
    return status;
}

/* The folder of the user's own families: $MEMSCOPE_FAMILIES, or none if that is empty; else in the
 * usual place for settings, if it is there. */
static ms_status apply_families(const ms_cli_grammar *grammar, ms_cli_settings *s, ms_error *err)
{
    static const char field[] = "families";
    char path[4096];
    struct stat info;
    ms_cli_choice choice;
    const char *folder = getenv("MEMSCOPE_FAMILIES"), *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    if (!ms_cli_find_option(grammar, field, sizeof field - 1, &choice))
        return MS_OK;
    if (!folder) {
        const bool is_config = config && *config;
        const int bytes = snprintf(path, sizeof path, "%s%s/memscope/families",
                                   is_config ? config
                                   : home    ? home
                                             : "",
                                   is_config ? "" : "/.config");
        folder = bytes > 0 && bytes < (int)sizeof path ? path : "";
    }
    if (!*folder || (folder == path && (stat(folder, &info) != 0 || !S_ISDIR(info.st_mode))))
        return MS_OK;
    return set_choice(&choice, folder, s, err);
}

static ms_status apply_flag(const word *w, const char *next, ms_cli_settings *s, bool *used_next,
                            ms_error *err)
{
    int truth = truth_of(w->value ? w->value : next);
    if (w->value && truth < 0)
        return ms_cli_fail(
            err, MS_ERR_USAGE,
            "%s: found '%.40s', expected true or false; memscope's own option is --%s %s", w->text,
            w->value, w->other->field, w->other->value);
    *used_next = !w->value && truth >= 0;
    return truth == 0 ? MS_OK : set_given(w, w->other->value, s, err);
}

/* Sets what an option of another tool stands for. */
static ms_status apply_other(const word *w, const char *next, ms_cli_settings *s, bool *used_next,
                             ms_error *err)
{
    char joined[64];
    const ms_run_word *other = w->other;
    if (other->value)
        return apply_flag(w, next, s, used_next, err);
    const char *value = w->value ? w->value : next;
    *used_next = !w->value;
    if (!value)
        return ms_cli_fail(err, MS_ERR_USAGE, "%s needs a value", w->text);
    if (other->prefix) {
        snprintf(joined, sizeof joined, "%s%.40s", other->prefix, value);
        value = joined;
    }
    return set_given(w, value, s, err);
}

/* Applies one option; `next` is the argument after it, `used_next` says whether it was the value.
 */
static ms_status apply(char **argv, int index, const char *next, ms_cli_settings *s,
                       bool *used_next, ms_error *err)
{
    const char *argument = argv[index];
    word w = {.argument = index + 1};
    ms_status status = read_word(s->grammar, argument, &w, err);
    if (status != MS_OK)
        return status;
    if (w.other)
        return apply_other(&w, next, s, used_next, err);
    bool takes_value = w.choice.value_name;
    if (!takes_value && w.value)
        return ms_cli_fail(err, MS_ERR_USAGE, "%s takes no value", w.text);
    *used_next = takes_value && !w.value;
    const char *value = *used_next ? next : w.value;
    if (takes_value && !value)
        return ms_cli_fail(err, MS_ERR_USAGE, "%s needs a value", w.text);
    return set_given(&w, takes_value ? value : "true", s, err);
}

/* As --launch, of a text that is freed. */
static ms_status take_launch(const char *typed, char *text, int argument, ms_cli_settings *s,
                             ms_error *err)
{
    static const char field[] = "launch";
    word w = {.argument = argument};
    snprintf(w.text, sizeof w.text, "%s", typed);
    ms_status status = MS_OK;
    if (!text)
        status = ms_cli_fail(err, MS_ERR_NOMEM, "no memory for a launch");
    else if (ms_cli_find_option(s->grammar, field, strlen(field), &w.choice))
        status = set_given(&w, text, s, err);
    free(text);
    return status;
}

/* A bare word, which is the config where that is an option as well. */
static ms_status take_word(char **argv, int index, ms_cli_settings *s, ms_error *err)
{
    static const char config[] = "config";
    ms_cli_choice choice;
    char *script = s->grammar->takes_launch ? cli_script(argv[index]) : NULL;
    if (script)
        return take_launch("CONFIG", script, index + 1, s, err);
    ms_status status = MS_OK;
    if (ms_cli_find_option(s->grammar, config, strlen(config), &choice))
        status = ms_cli_given_note(s->given, &choice, "CONFIG", index + 1, argv[index],
                                   s->of_second != NULL, err);
    return status == MS_OK ? s->grammar->take_word(s, argv[index], err) : status;
}

/* What follows the argument at `index` is of the second side. */
static ms_status begin_second(const ms_cli_call *call, int index, ms_cli_settings *s, ms_error *err)
{
    s->of_second = ms_run_create();
    s->second_words = call->argv + index + 1;
    if (!s->of_second)
        return ms_cli_fail(err, MS_ERR_NOMEM, "no memory for a run");
    return apply_all_also(s->grammar, call->argv + index + 1, call->argc - index - 1, s, err);
}

static ms_status parse(const ms_cli_call *call, ms_cli_settings *settings, ms_error *err)
{
    bool options_end = false;
    const ms_cli_grammar *grammar = call->command->grammar;
    settings->grammar = grammar;
    ms_status status = apply_families(grammar, settings, err);
    if (status == MS_OK)
        status = apply_all_also(grammar, call->argv, call->argc, settings, err);
    if (status != MS_OK)
        return status;
    for (int i = 0; i < call->argc; i++) {
        const char *argument = call->argv[i];
        bool used_next = false;
        if (!options_end && strcmp(argument, "--") == 0 && grammar->has_sides &&
            !settings->of_second)
            status = begin_second(call, i, settings, err);
        else if (!options_end && strcmp(argument, "--") == 0 && grammar->takes_launch &&
                 i + 2 < call->argc)
            return take_launch("--", cli_quote(call->argv + i + 1, call->argc - i - 1), i + 1,
                               settings, err);
        else if (!options_end && strcmp(argument, "--") == 0)
            options_end = true;
        else if (!options_end && argument[0] == '-' && argument[1] != '\0')
            status = apply(call->argv, i, i + 1 < call->argc ? call->argv[i + 1] : NULL, settings,
                           &used_next, err);
        else
            status = take_word(call->argv, i, settings, err);
        if (status != MS_OK)
            return status;
        i += used_next;
    }
    return MS_OK;
}

/* Whatever the command reads is listed, so that nothing is written over it. */
static int work_guarded(const ms_cli_settings *settings, ms_cli_work work, ms_error *err)
{
    ms_inputs *inputs = ms_cli_guard_begin();
    if (!inputs)
        return ms_cli_no_memory();
    ms_run_set_inputs(settings->run, inputs); /* those that the command has */
    ms_plan_set_inputs(settings->plan, inputs);
    ms_sweep_set_inputs(settings->sweep, inputs);
    int code = work(settings, err);
    ms_cli_guard_end();
    return code;
}

int ms_cli_run(const ms_cli_call *call, ms_cli_settings *settings, ms_cli_work work)
{
    ms_error err = {.status = MS_OK};
    settings->given = ms_cli_given_new(call->argc);
    if (!settings->given)
        return ms_cli_no_memory();
    ms_status status = parse(call, settings, &err);
    ms_cli_given_free(settings->given);
    if (status == MS_OK)
        status = ms_cli_check_ending(settings, &err);
    if (settings->help) {
        ms_cli_print_command_help(stdout, call->command);
        return 0;
    }
    if (status == MS_OK)
        return work_guarded(settings, work, &err);
    int code = ms_cli_complain(&err);
    if (status == MS_ERR_USAGE)
        fprintf(stderr, "Try: memscope help %s\n", call->command->name);
    return code;
}

int ms_cli_run_with_run(const ms_cli_call *call, ms_cli_work work)
{
    ms_cli_settings settings = {.run = ms_run_create()};
    if (!settings.run)
        return ms_cli_no_memory();
    int code = ms_cli_run(call, &settings, work);
    ms_run_free(settings.run);
    ms_run_free(settings.of_second);
    return code;
}

int ms_cli_run_with_paths(const ms_cli_call *call, ms_cli_work work)
{
    ms_cli_settings settings = {.paths = calloc((size_t)call->argc + 1, sizeof *settings.paths)};
    if (!settings.paths)
        return ms_cli_no_memory();
    int code = ms_cli_run(call, &settings, work);
    free(settings.paths);
    return code;
}

/* The end of a command that has printed; a reader that went away is no error. */
static int end_print(ms_status status, ms_error *err)
{
    if (status == MS_ERR_IO && errno == EPIPE) {
        clearerr(stdout);
        return 0;
    }
    return err->status == MS_OK ? 0 : ms_cli_complain(err);
}

int ms_cli_print_table(const ms_cli_call *call, ms_status (*write)(FILE *out, ms_error *err))
{
    ms_error err = {.status = MS_OK};
    ms_status status = MS_OK;
    if (call->argc > 0 && ms_cli_is_help(call->argv[0])) {
        ms_cli_print_command_help(stdout, call->command);
        return 0;
    }
    if (call->argc > 0)
        ms_cli_fail(&err, MS_ERR_USAGE, "%s takes no arguments; unexpected argument %.80s",
                    call->command->name, call->argv[0]);
    else
        status = write(stdout, &err);
    return end_print(status, &err);
}

int ms_cli_print_named(const ms_cli_call *call, const char *takes,
                       ms_status (*write)(const char *name, FILE *out, ms_error *err))
{
    ms_error err = {.status = MS_OK};
    ms_status status = MS_OK;
    if (call->argc > 1)
        ms_cli_fail(&err, MS_ERR_USAGE, "%s takes %s; unexpected argument %.80s",
                    call->command->name, takes, call->argv[1]);
    else
        status = write(call->argc == 1 ? call->argv[0] : NULL, stdout, &err);
    return end_print(status, &err);
}
