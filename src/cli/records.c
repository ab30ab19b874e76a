/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the Python of a captured program left, and where it goes.
 */
#include "cli/records.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "memscope/recorded.h"

enum { PATH_BYTES = 4096 };

/* The report comes first. */
static const struct kept {
    const char *ending, *name;
} kept[] = {{".json", MS_CLI_REPORT_NAME},
            {".pickle", "memory_snapshot.pickle"},
            {".txt", "runtime_events.txt"}};
enum { KEPT = sizeof kept / sizeof kept[0] };
static const char unfinished_ending[] = ".rest";

/* The best one sorts first: scripts/memscope_torch/report.py names them so. */
static bool find(const char *folder, const char *ending, char name[PATH_BYTES])
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t end = strlen(ending);
    name[0] = '\0';
    while (dir && (entry = readdir(dir)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (length > end && strcmp(entry->d_name + length - end, ending) == 0 &&
            (!*name || strcmp(entry->d_name, name) < 0))
            snprintf(name, PATH_BYTES, "%s", entry->d_name);
    }
    if (dir)
        closedir(dir);
    return *name;
}

bool ms_cli_keep_record(const char *folder, const char *out)
{
    char name[PATH_BYTES], rest[PATH_BYTES], from[2 * PATH_BYTES], to[2 * PATH_BYTES];
    bool is_there = find(folder, kept[0].ending, name);
    if (is_there && find(folder, unfinished_ending, rest) && strcmp(rest, name) < 0)
        return false;
    if (is_there)
        *strrchr(name, '.') = '\0';
    for (int i = KEPT - 1; i >= 0 && is_there; i--) {
        snprintf(from, sizeof from, "%s/%s%s", folder, name, kept[i].ending);
        snprintf(to, sizeof to, "%s/%s", out, kept[i].name);
        is_there = rename(from, to) == 0 || (i > 0 && errno == ENOENT);
    }
    return is_there;
}

static bool copy(FILE *from, FILE *to)
{
    char part[PATH_BYTES];
    size_t got;
    while ((got = fread(part, 1, sizeof part, from)) > 0)
        fwrite(part, 1, got, to);
    return !ferror(from) && !ferror(to);
}

/* The file holds the report's members behind the outcome and the message. */
static bool complete(FILE *from, const char *path, const char *outcome, const char *how)
{
    FILE *to = fopen(path, "w");
    if (!to)
        return false;
    fprintf(to,
            "{\n \"schema_version\": \"%s\",\n \"outcome\": \"%s\",\n"
            " \"message\": \"the program %s\",\n",
            MS_RUNTIME_SCHEMA_VERSION, outcome, how);
    bool done = copy(from, to);
    return fclose(to) == 0 && done;
}

bool ms_cli_keep_unfinished(const char *folder, const char *out, const char *outcome,
                            const char *how)
{
    char name[PATH_BYTES], path[2 * PATH_BYTES], part[2 * PATH_BYTES];
    if (!find(folder, unfinished_ending, name))
        return false;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *from = fopen(path, "r");
    snprintf(part, sizeof part, "%s/report.part", folder);
    bool done = from && complete(from, part, outcome, how);
    if (from)
        fclose(from);
    snprintf(path, sizeof path, "%s/%s", out, kept[0].name);
    return done && rename(part, path) == 0;
}

void ms_cli_remove_records(const char *out)
{
    char path[2 * PATH_BYTES];
    for (int i = 0; i < KEPT; i++) {
        snprintf(path, sizeof path, "%s/%s", out, kept[i].name);
        unlink(path);
    }
}

void ms_cli_remove_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(folder);
}
