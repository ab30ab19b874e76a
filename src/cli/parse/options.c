/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/parse/options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output/message.h"
#include "cli/output/file.h"
#include "memscope/check.h"
#include "memscope/memscope.h"

/* ---- cached ---- */

enum { PATH_BYTES = 4096, COMMIT_BYTES = 64, SIDES = 2 };

/* False: there is none, or no room for it. */
static bool write_folder(const char *owner, int owner_bytes, const char *name, char *folder)
{
    const char *hub = getenv("HF_HUB_CACHE"), *home = getenv("HF_HOME"), *user = getenv("HOME");
    const char *base = hub && *hub ? hub : home && *home ? home : user;
    const char *below = base == hub ? "" : base == home ? "/hub" : "/.cache/huggingface/hub";
    if (!base || !*base)
        return false;
    int length = snprintf(folder, PATH_BYTES, "%s%s/models--%.*s--%s", base, below, owner_bytes,
                          owner, name);
    return length > 0 && length < PATH_BYTES - COMMIT_BYTES - 64;
}

/* A file with something in it, not a pipe or a device, which may have nothing for ever. */
static FILE *open_plain(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    FILE *file = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? fdopen(fd, "r") : NULL;
    if (!file && fd >= 0)
        close(fd);
    return file;
}

/* The commit that "main" is at, which names the folder of its files. */
static bool read_commit(const char *folder, char commit[COMMIT_BYTES])
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%.4000s/refs/main", folder);
    FILE *file = open_plain(path);
    bool is_read = file && fgets(commit, COMMIT_BYTES, file) != NULL;
    if (file)
        fclose(file);
    if (!is_read)
        return false;
    commit[strcspn(commit, "\n")] = '\0';
    return *commit && !commit[strspn(commit, "0123456789abcdef")];
}

const char *ms_cli_cached(const char *model)
{
    static char paths[SIDES][PATH_BYTES];
    static unsigned used;
    char folder[PATH_BYTES], commit[COMMIT_BYTES];
    struct stat info;
    const char *slash = strchr(model, '/');
    bool is_id = slash && slash != model && slash[1] && !strchr(slash + 1, '/') && *model != '.';
    if (!is_id || ms_model_is_named(model) ||
        !write_folder(model, (int)(slash - model), slash + 1, folder) ||
        !read_commit(folder, commit))
        return model;
    char *path = paths[used++ % SIDES];
    snprintf(path, PATH_BYTES, "%.3900s/snapshots/%s/config.json", folder, commit);
    return stat(path, &info) == 0 ? path : model;
}

/* ---- options ---- */

static ms_status set_number(uint64_t *number, const ms_cli_option *option, const char *value,
                            ms_error *err)
{
    char expected[40] = "a number above 0", *end = NULL;
    errno = 0;
    unsigned long long read = *value >= '0' && *value <= '9' ? strtoull(value, &end, 10) : 0;
    if (read > 0 && errno == 0 && *end == '\0' && read <= option->most) {
        *number = read;
        return MS_OK;
    }
    if (option->most < UINT64_MAX)
        snprintf(expected, sizeof expected, "1 to %llu", (unsigned long long)option->most);
    return ms_cli_fail(err, MS_ERR_USAGE, "--%s: found '%.40s', expected %s", option->name, value,
                       expected);
}

static const char *choice_name(const void *option, size_t index)
{
    return ((const ms_cli_option *)option)->choice_at(index);
}

/* "batch, seq, rank, layers or gpus". */
static void write_choices(const ms_cli_option *option, char *out, size_t size)
{
    size_t used = 0;
    const char *name;
    for (size_t i = 0; (name = option->choice_at(i)) && used < size; i++) {
        const char *before = i == 0 ? "" : option->choice_at(i + 1) ? ", " : " or ";
        used += (size_t)snprintf(out + used, size - used, "%s%s", before, name);
    }
}

static ms_status set_choice(const char **choice, const ms_cli_option *option, const char *value,
                            ms_error *err)
{
    char hint[MS_CLI_HINT_BYTES], choices[120] = "";
    *choice = value;
    for (size_t i = 0; option->choice_at(i); i++)
        if (strcmp(option->choice_at(i), value) == 0)
            return MS_OK;
    write_choices(option, choices, sizeof choices);
    return ms_cli_fail(err, MS_ERR_USAGE, "--%s: no \"%.40s\"%s (%s)", option->name, value,
                       ms_cli_hint(value, choice_name, option, "", hint), choices);
}

ms_status ms_cli_set_option(ms_cli_settings *s, const ms_cli_option *option, const char *value,
                            ms_error *err)
{
    void *member = (char *)s + option->member;
    switch (option->kind) {
    case MS_CLI_IS_FLAG:
        *(bool *)member = true;
        return MS_OK;
    case MS_CLI_IS_TEXT:
        *(const char **)member = value;
        if (*value || !option->needs)
            return MS_OK;
        return ms_cli_fail(err, MS_ERR_USAGE, "--%s needs %s", option->name, option->needs);
    case MS_CLI_IS_PATH:
        *(const char **)member = ms_cli_path(value);
        return MS_OK;
    case MS_CLI_IS_CHOICE:
        return set_choice(member, option, value, err);
    case MS_CLI_IS_NUMBER:
        return set_number(member, option, value, err);
    case MS_CLI_APPLIES:
        break;
    }
    return option->apply(s, value, err);
}

ms_status ms_cli_set_no_color(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)value, (void)err;
    s->color = MS_COLOR_NEVER;
    return MS_OK;
}

ms_status ms_cli_set_color(ms_cli_settings *s, const char *value, ms_error *err)
{
    for (size_t i = 0; ms_cli_color_name(i); i++)
        if (strcmp(value, ms_cli_color_name(i)) == 0) {
            s->color = (ms_cli_color)i;
            return MS_OK;
        }
    return ms_cli_fail(err, MS_ERR_USAGE, "--color is auto, always or never, not \"%.40s\"", value);
}

ms_status ms_cli_set_jobs(ms_cli_settings *s, const char *value, ms_error *err)
{
    char *end = NULL;
    unsigned long jobs = *value >= '0' && *value <= '9' ? strtoul(value, &end, 10) : 0;
    if (jobs == 0 || jobs > MS_CHECK_MOST_THREADS || *end != '\0')
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "--jobs: found '%.40s', expected a whole number from 1 to %d", value,
                           (int)MS_CHECK_MOST_THREADS);
    s->jobs = (uint32_t)jobs;
    return MS_OK;
}

ms_status ms_cli_set_run(ms_cli_settings *s, const char *field, const char *value, ms_error *err)
{
    if (strcmp(field, "config") == 0)
        value = ms_cli_cached(value);
    return ms_run_set(s->of_second ? s->of_second : s->run, field, value, err);
}

const ms_cli_fields ms_cli_run_fields[] = {{.list = ms_run_fields, .set = ms_cli_set_run},
                                           {.list = NULL}};

ms_status ms_cli_take_config(ms_cli_settings *s, const char *word, ms_error *err)
{
    s->config = ms_cli_cached(word);
    return ms_run_set(s->run, "config", s->config, err);
}

const char *ms_cli_budgets(const ms_cli_settings *s)
{
    return s->config ? s->config : "memscope.budgets.json";
}

ms_status ms_cli_refuse_word(ms_cli_settings *s, const char *word, ms_error *err)
{
    (void)s;
    return ms_cli_fail(err, MS_ERR_USAGE,
                       "unexpected argument %.80s; name a file of budgets with --budgets", word);
}

const ms_cli_fields ms_cli_no_fields[] = {{.list = NULL}};
