/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finding the record of a captured program, and moving it to its destination.
 */
#include "cli/capture/records.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/output/message.h"
#include "memscope/recorded.h"

enum { PATH_BYTES = 4096, PART_BYTES = 2048 };

/* The report comes first. */
static const struct kept {
    const char *ending, *name;
} kept[] = {{".json", MS_CLI_REPORT_NAME},
            {".pickle", "memory_snapshot.pickle"},
            {".txt", "runtime_events.txt"},
            {".jsonl", "runtime_trace.jsonl"}};
enum { KEPT = sizeof kept / sizeof kept[0] };
static const char unfinished_ending[] = ".rest";

/* The best one sorts first: scripts/memscope_torch/report.py names them so. */
static bool find(const char *folder, const char *ending, char stem[MS_CLI_STEM_BYTES])
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t end = strlen(ending);
    stem[0] = '\0';
    while (dir && (entry = readdir(dir)) != NULL) {
        char found[MS_CLI_STEM_BYTES];
        size_t length = strlen(entry->d_name);
        if (length <= end || length - end >= sizeof found ||
            strcmp(entry->d_name + length - end, ending) != 0)
            continue;
        snprintf(found, sizeof found, "%.*s", (int)(length - end), entry->d_name);
        if (!*stem || strcmp(found, stem) < 0)
            memcpy(stem, found, sizeof found);
    }
    if (dir)
        closedir(dir);
    return *stem;
}

static bool copy(FILE *from, FILE *to)
{
    char part[PART_BYTES];
    size_t got;
    while ((got = fread(part, 1, sizeof part, from)) > 0)
        fwrite(part, 1, got, to);
    return !ferror(from) && !ferror(to);
}

/* The file holds the report's members behind those that say how the program ended. */
static bool complete(const char *folder, const char *stem, const char *outcome, const char *how)
{
    char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s%s", folder, stem, unfinished_ending);
    FILE *from = fopen(path, "r");
    snprintf(path, sizeof path, "%s/%s%s", folder, stem, kept[0].ending);
    FILE *to = from ? fopen(path, "w") : NULL;
    if (to)
        fprintf(to,
                "{\n \"schema_version\": \"%s\",\n \"outcome\": \"%s\",\n"
                " \"message\": \"the program %s\",\n \"hint\": null,\n",
                MS_RUNTIME_SCHEMA_VERSION, outcome, how);
    bool done = to && copy(from, to);
    if (from)
        fclose(from);
    return to && fclose(to) == 0 && done;
}

bool ms_cli_find_record(const char *folder, const char *outcome, const char *how,
                        char stem[MS_CLI_STEM_BYTES])
{
    char rest[MS_CLI_STEM_BYTES];
    bool is_whole = find(folder, kept[0].ending, stem);
    if (!find(folder, unfinished_ending, rest) || (is_whole && strcmp(stem, rest) < 0))
        return is_whole;
    memcpy(stem, rest, sizeof rest);
    return complete(folder, stem, outcome, how);
}

ms_recorded *ms_cli_read_record(const char *path, ms_error *err)
{
    return ms_cli_guard_input(path, err) == MS_OK ? ms_recorded_load(path, err) : NULL;
}

void ms_cli_add_records(ms_cli_targets *targets, const char *out)
{
    for (size_t i = 0; i < KEPT; i++)
        ms_cli_targets_add(targets, out, kept[i].name);
}

/* So that a crash of the machine leaves no file without its content. */
static bool sync_file(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool done = file >= 0 && fsync(file) == 0;
    int reason = errno;
    if (file >= 0)
        close(file);
    errno = reason;
    return done;
}

static bool move(const char *from, const char *to)
{
    if (access(from, F_OK) != 0)
        return unlink(to) == 0 || errno == ENOENT;
    return sync_file(from) && rename(from, to) == 0;
}

ms_status ms_cli_keep_record(const char *folder, const char *stem, const char *out, ms_error *err)
{
    char from[2 * PATH_BYTES], to[2 * PATH_BYTES];
    for (size_t i = KEPT; i-- > 0;) {
        snprintf(from, sizeof from, "%s/%s%s", folder, stem, kept[i].ending);
        snprintf(to, sizeof to, "%s/%s", out, kept[i].name);
        if (!move(from, to))
            return ms_cli_fail_errno(err, "write", to);
    }
    return MS_OK;
}

/* What is not there is not copied. */
static bool copy_file(const char *from, const char *to)
{
    FILE *source = fopen(from, "rb");
    if (!source)
        return errno == ENOENT;
    FILE *target = fopen(to, "wb");
    bool done = target && copy(source, target);
    fclose(source);
    return target && fclose(target) == 0 && done;
}

ms_status ms_cli_copy_record(const char *from, const char *folder, const char *stem, ms_error *err)
{
    char source[2 * PATH_BYTES], target[2 * PATH_BYTES];
    for (size_t i = 0; i < KEPT; i++) {
        snprintf(source, sizeof source, "%s/%s", from, kept[i].name);
        snprintf(target, sizeof target, "%s/%s%s", folder, stem, kept[i].ending);
        if (!copy_file(source, target))
            return ms_cli_fail_errno(err, "write", target);
    }
    return MS_OK;
}
