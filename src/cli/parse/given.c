/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/parse/given.h"

#include <stdlib.h>
#include <string.h>

#include "cli/output/message.h"

enum { TYPED_BYTES = 48 };

typedef struct row {
    const ms_cli_option *option;
    const ms_run_field *field;
    bool is_second;
    int argument;
    char typed[TYPED_BYTES], *value;
} row;

struct ms_cli_given {
    size_t count;
    row rows[];
};

/* What is given again follows what was given before. */
static bool is_added_to(const char *name)
{
    static const char *const names[] = {"output", "offload-tag", "override-tensor",
                                        "training-args"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

ms_cli_given *ms_cli_given_new(int arguments)
{
    return calloc(1, sizeof(ms_cli_given) + (size_t)arguments * sizeof(row));
}

void ms_cli_given_free(ms_cli_given *given)
{
    for (size_t i = 0; given && i < given->count; i++)
        free(given->rows[i].value);
    free(given);
}

static const row *find(const ms_cli_given *given, const ms_cli_choice *choice, bool is_second)
{
    for (size_t i = 0; i < given->count; i++) {
        const row *r = &given->rows[i];
        if (r->option == choice->option && r->field == choice->field &&
            (!r->field || r->is_second == is_second))
            return r;
    }
    return NULL;
}

ms_status ms_cli_given_note(ms_cli_given *given, const ms_cli_choice *choice, const char *typed,
                            int argument, const char *value, bool is_second, ms_error *err)
{
    const row *before = find(given, choice, is_second);
    if (is_added_to(choice->name) || (choice->fields && choice->fields->adds) ||
        (before && strcmp(before->value, value) == 0))
        return MS_OK;
    if (before)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "%s is '%.60s' (argument %d) and '%.60s' (%s%sargument %d): "
                           "give it once",
                           before->typed, before->value, before->argument, value,
                           strcmp(before->typed, typed) == 0 ? "" : typed,
                           strcmp(before->typed, typed) == 0 ? "" : ", ", argument);
    row *r = &given->rows[given->count];
    *r = (row){.option = choice->option,
               .field = choice->field,
               .is_second = is_second,
               .argument = argument,
               .value = strdup(value)};
    strncpy(r->typed, typed, TYPED_BYTES - 1);
    if (!r->value)
        return ms_cli_fail(err, MS_ERR_NOMEM, "no memory for an option");
    given->count++;
    return MS_OK;
}
