/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shell completions from the same tables as the help texts: the files for zsh and fish, and the
 * words that bash requests.
 */
#include "cli/parse/completion.h"

#include <string.h>

#include "cli/output/terminal.h"
#include "memscope/fit.h"
#include "memscope/plan.h"
#include "memscope/probe.h"
#include "memscope/sweep.h"

/* ---- what may follow an option ---- */

typedef enum kind { NOTHING, TEXT, WORDS, FILES, MODELS, DEVICES } kind;

/* What an option may have, or may begin with; NULL past the last. */
static const char *word_of(const ms_cli_grammar *grammar, const char *name, size_t index)
{
    const struct {
        const char *name;
        const char *(*at)(size_t index);
    } lists[] = {{"format", grammar->format_at},
                 {"what", ms_fit_what_name},
                 {"color", ms_cli_color_name},
                 {"offload-tag", ms_probe_offload_tag_at}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (strcmp(lists[i].name, name) == 0)
            return lists[i].at(index);
    for (const ms_cli_fields *f = grammar->fields; f->list; f++)
        if (f->choice_at && f->choice_at(name, 0))
            return f->choice_at(name, index);
    const char *const *choices = ms_run_field_choices(name);
    for (size_t i = 0; choices && i < index && *choices; i++)
        choices++;
    if (choices)
        return *choices;
    const char *word = ms_run_field_example(name, index);
    if (!word)
        word = ms_plan_field_choice(name, index);
    return word ? word : ms_sweep_field_choice(name, index);
}

static bool is_file(const char *value_name)
{
    static const char *const names[] = {"FILE", "DIR", "FORMAT=FILE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], value_name) == 0)
            return true;
    return false;
}

static kind kind_of(const ms_cli_grammar *grammar, const ms_run_field *row)
{
    if (!row->value_name)
        return NOTHING;
    if (strcmp(row->name, "config") == 0)
        return MODELS;
    if (strcmp(row->name, "device") == 0)
        return DEVICES;
    if (is_file(row->value_name))
        return FILES;
    return word_of(grammar, row->name, 0) ? WORDS : TEXT;
}

/* A text between single quotes: `quote` stands for one of its own, and a backslash before what
 * else is special. */
static void put_text(FILE *out, const char *text, const char *special, const char *quote)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs(quote, out);
        else
            fprintf(out, "%s%c", strchr(special, *text) ? "\\" : "", *text);
}

static void put_words(FILE *out, const ms_cli_grammar *grammar, const char *name,
                      const char *special)
{
    const char *word, *blank = "";
    for (size_t i = 0; (word = word_of(grammar, name, i)) != NULL; i++, blank = " ") {
        fputs(blank, out);
        put_text(out, word, special, "'");
    }
}

typedef struct target {
    FILE *out;
    const ms_cli_command *command;
} target;

static const char zsh_quote[] = "'\\''", fish_quote[] = "\\'";

/* ---- zsh ---- */

static void put_zsh_value(FILE *out, const ms_cli_grammar *grammar, const ms_run_field *row)
{
    switch (kind_of(grammar, row)) {
    case NOTHING:
        return;
    case TEXT:
        fprintf(out, ":%s:", row->value_name);
        return;
    case WORDS:
        fprintf(out, ":%s:(", row->value_name);
        put_words(out, grammar, row->name, ":");
        fputc(')', out);
        return;
    case FILES:
        fputs(":file:_files", out);
        return;
    case MODELS:
        fputs(":config:_memscope_models", out);
        return;
    case DEVICES:
        fputs(":device:_memscope_devices", out);
        return;
    }
}

static void put_zsh_option(void *context, char letter, const ms_run_field *row)
{
    const target *t = context;
    char shorter[] = {'-', letter, '\0'};
    const char *const names[] = {letter ? shorter : NULL, row->name};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!names[i])
            continue;
        fprintf(t->out, " \\\n        '%s%s[", i ? "--" : "", names[i]);
        put_text(t->out, row->help, "[]:", zsh_quote);
        fputc(']', t->out);
        put_zsh_value(t->out, t->command->grammar, row);
        fputc('\'', t->out);
    }
}

static const char zsh_begin[] =
    "#compdef memscope\n"
    "# SPDX-License-Identifier: GPL-3.0-or-later\n"
    "# Made by memscope help --completion zsh; do not edit.\n\n"
    "_memscope_models() {\n    local -a names\n"
    "    names=(${(f)\"$(memscope models 2>/dev/null | awk 'NR > 1 { print $1 }')\"})\n"
    "    _alternative 'models:built-in model:compadd -a names' 'files:config.json:_files'\n}\n\n"
    "_memscope_devices() {\n    local -a names\n"
    "    names=(${(f)\"$(memscope devices 2>/dev/null | awk 'NR > 2 { print $1 }')\"} cpu)\n"
    "    compadd -a names\n}\n";

/* What a command's bare words are. */
static const char *zsh_words(const ms_cli_command *command)
{
    if (strcmp(command->name, "schema") == 0)
        return " '1:schema:(${(f)\"$(memscope schema 2>/dev/null)\"})'";
    if (strcmp(command->name, "help") == 0)
        return " '1:command:($commands)'";
    if (!command->grammar)
        return "";
    size_t count;
    const ms_run_field *first =
        command->grammar->fields->list ? command->grammar->fields->list(&count) : NULL;
    return first ? " \\\n        '*:config:_memscope_models'" : " \\\n        '*:file:_files'";
}

static void put_zsh(FILE *out, const ms_cli_command *const *commands)
{
    fputs(zsh_begin, out);
    for (size_t i = 0; commands[i]; i++) {
        const ms_cli_command *command = commands[i];
        target t = {out, command};
        fprintf(out, "\n_memscope_%s() {\n    _arguments", command->name);
        if (command->grammar)
            ms_cli_visit_options(command->grammar, put_zsh_option, &t);
        fprintf(out, "%s\n}\n", zsh_words(command));
    }
    fputs("\n_memscope() {\n    local -a commands described\n    described=(\n", out);
    for (size_t i = 0; commands[i]; i++) {
        const ms_cli_command *command = commands[i];
        fprintf(out, "        '%s:", command->name);
        put_text(out, command->help, ":", zsh_quote);
        fputs("'\n", out);
    }
    fputs("    )\n    commands=(${described%%:*})\n    if (( CURRENT == 2 )); then\n"
          "        _describe command described\n        return\n    fi\n"
          "    local command=$words[2]\n"
          "    (( ${commands[(Ie)$command]} )) || return 1\n"
          "    shift words\n    (( CURRENT-- ))\n    _memscope_$command\n}\n\n_memscope \"$@\"\n",
          out);
}

/* ---- fish ---- */

static void put_fish_option(void *context, char letter, const ms_run_field *row)
{
    const target *t = context;
    fprintf(t->out, "complete -c memscope -n $%s", t->command->name);
    if (letter)
        fprintf(t->out, " -s %c", letter);
    fprintf(t->out, " -l %s", row->name);
    switch (kind_of(t->command->grammar, row)) {
    case NOTHING:
        break;
    case TEXT:
        fputs(" -x", t->out);
        break;
    case WORDS:
        fputs(" -x -a '", t->out);
        put_words(t->out, t->command->grammar, row->name, "");
        fputc('\'', t->out);
        break;
    case FILES:
        fputs(" -r", t->out);
        break;
    case MODELS:
        fputs(" -r -a '(__memscope_models)'", t->out);
        break;
    case DEVICES:
        fputs(" -x -a '(__memscope_devices)'", t->out);
        break;
    }
    fputs(" -d '", t->out);
    put_text(t->out, row->help, "", fish_quote);
    fputs("'\n", t->out);
}

static const char fish_begin[] =
    "# SPDX-License-Identifier: GPL-3.0-or-later\n"
    "# Made by memscope help --completion fish; do not edit.\n\n"
    "function __memscope_models\n"
    "    memscope models 2>/dev/null | tail -n +2 | string split -f1 ' '\nend\n\n"
    "function __memscope_devices\n"
    "    memscope devices 2>/dev/null | tail -n +3 | string split -f1 ' '\n    echo cpu\nend\n\n";

static void put_fish(FILE *out, const ms_cli_command *const *commands)
{
    fputs(fish_begin, out);
    for (size_t i = 0; commands[i]; i++) {
        const ms_cli_command *command = commands[i];
        fprintf(out, "complete -c memscope -n __fish_use_subcommand -f -a %s -d '", command->name);
        put_text(out, command->help, "", fish_quote);
        fprintf(out, "'\ncomplete -c memscope -n '__fish_seen_subcommand_from help' -f -a %s\n",
                command->name);
    }
    fputs("complete -c memscope -n '__fish_seen_subcommand_from schema' -f "
          "-a '(memscope schema 2>/dev/null)'\n",
          out);
    for (size_t i = 0; commands[i]; i++) {
        const ms_cli_command *command = commands[i];
        target t = {out, command};
        if (!command->grammar)
            continue;
        fprintf(out, "\nset -l %s '__fish_seen_subcommand_from %s'\n", command->name,
                command->name);
        ms_cli_visit_options(command->grammar, put_fish_option, &t);
    }
}

/* ---- bash ---- */

typedef struct question {
    target target;
    const char *option; /* "--format" */
} question;

static void answer(void *context, char letter, const ms_run_field *row)
{
    static const char *const lists[] = {[MODELS] = "models", [DEVICES] = "devices"};
    const question *q = context;
    (void)letter;
    if (strcmp(q->option + 2, row->name) != 0)
        return;
    kind what = kind_of(q->target.command->grammar, row);
    if (what == WORDS)
        put_words(q->target.out, q->target.command->grammar, row->name, "");
    else if (what == MODELS || what == DEVICES)
        fprintf(q->target.out, "@%s", lists[what]);
    fputc('\n', q->target.out);
}

static bool put_values(FILE *out, const ms_cli_command *command, const char *option)
{
    if (!command || !command->grammar || strncmp(option, "--", 2) != 0)
        return false;
    question q = {{out, command}, option};
    ms_cli_visit_options(command->grammar, answer, &q);
    return true;
}

bool ms_cli_print_completion(FILE *out, const ms_cli_command *const *commands, int argc,
                             char **argv)
{
    if (argc == 1 && strcmp(argv[0], "zsh") == 0)
        put_zsh(out, commands);
    else if (argc == 1 && strcmp(argv[0], "fish") == 0)
        put_fish(out, commands);
    else
        return argc == 3 && strcmp(argv[0], "words") == 0 &&
               put_values(out, ms_cli_command_find(commands, argv[1]), argv[2]);
    return true;
}
