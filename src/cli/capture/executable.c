/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Detects the kind of an executable file.
 */
#include "cli/capture/executable.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/output/message.h"

enum { PATH_BYTES = 4096, LINE_BYTES = 256, MOST_SCRIPTS = 4, MOST_SEGMENTS = 64 };

typedef struct executable {
    char path[PATH_BYTES];
    bool is_privileged, is_elf, is_narrow, is_foreign, is_static;
} executable;

static bool is_runnable(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

/* As execvp does. */
static bool resolve(const char *name, char path[PATH_BYTES])
{
    const char *folders = getenv("PATH");
    if (strchr(name, '/')) {
        snprintf(path, PATH_BYTES, "%s", name);
        return is_runnable(path);
    }
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        snprintf(path, PATH_BYTES, "%.*s/%.255s", length > 0 && length < 2048 ? (int)length : 1,
                 length > 0 ? folders : ".", name);
        if (is_runnable(path))
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* "#!/usr/bin/env -S python3 -u": its interpreter is python3. */
static bool interpreter_of(char *line, char path[PATH_BYTES])
{
    char *rest = NULL;
    line[strcspn(line, "\n")] = '\0';
    const char *word = strtok_r(line + 2, " \t", &rest);
    if (!word)
        return false;
    size_t length = strlen(word);
    bool is_env = length >= 4 && strcmp(word + length - 4, "/env") == 0;
    if (!is_env)
        return resolve(word, path);
    do
        word = strtok_r(NULL, " \t", &rest);
    while (word && (word[0] == '-' || strchr(word, '=')));
    return word && resolve(word, path);
}

static void read_elf(FILE *file, const unsigned char *ident, executable *e)
{
    ElfW(Ehdr) header;
    ElfW(Phdr) segment;
    static const int own_class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    e->is_elf = true;
    e->is_foreign = ident[EI_CLASS] != own_class;
    e->is_narrow = ident[EI_CLASS] == ELFCLASS32;
    rewind(file);
    if (e->is_foreign || fread(&header, sizeof header, 1, file) != 1)
        return;
    e->is_static = true;
    for (unsigned i = 0; i < header.e_phnum && i < MOST_SEGMENTS; i++) {
        long at = (long)(header.e_phoff + i * (uint64_t)header.e_phentsize);
        if (fseek(file, at, SEEK_SET) != 0 || fread(&segment, sizeof segment, 1, file) != 1)
            break;
        if (segment.p_type == PT_INTERP)
            e->is_static = false;
    }
}

/* False when it is a script whose interpreter, then in `path`, is to be looked at. */
static bool look_at_file(executable *e)
{
    char line[LINE_BYTES] = "";
    struct stat facts;
    if (stat(e->path, &facts) != 0)
        return true;
    e->is_privileged = ((facts.st_mode & S_ISUID) && facts.st_uid != geteuid()) ||
                       ((facts.st_mode & S_ISGID) && facts.st_gid != getegid());
    FILE *file = fopen(e->path, "rb");
    size_t got = file ? fread(line, 1, sizeof line - 1, file) : 0;
    bool is_script = got > 2 && memcmp(line, "#!", 2) == 0;
    if (got > EI_NIDENT && memcmp(line, ELFMAG, SELFMAG) == 0)
        read_elf(file, (const unsigned char *)line, e);
    if (file)
        fclose(file);
    return !is_script || !interpreter_of(line, e->path);
}

/* False when there is no such program. */
static bool look_at(const char *name, executable *e)
{
    memset(e, 0, sizeof *e);
    if (!resolve(name, e->path))
        return false;
    for (int i = 0; i < MOST_SCRIPTS && !look_at_file(e); i++)
        ;
    return true;
}

ms_status ms_cli_check_program(const char *name, bool takes_library, ms_error *err)
{
    executable e;
    if (!look_at(name, &e))
        return MS_OK;
    if (e.is_privileged)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "%.150s is set-uid or set-gid: the system allows nothing to be "
                           "preloaded into it",
                           e.path);
    if (takes_library && e.is_elf && e.is_foreign)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "%.150s is a %s-bit program: the null device cannot be loaded into it",
                           e.path, e.is_narrow ? "32" : "64");
    return MS_OK;
}

/* What is there may stay; a second null device may not, nor what the loader would complain of. */
ms_status ms_cli_check_environment(ms_error *err)
{
    const char *list = getenv("LD_PRELOAD");
    if (getenv("MEMSCOPE_CAPTURE_DIR"))
        return ms_cli_fail(err, MS_ERR_USAGE, "memscope capture cannot run inside another capture");
    while (list && *list) {
        char path[PATH_BYTES];
        int length = (int)strcspn(list, " :");
        snprintf(path, sizeof path, "%.*s", length < PATH_BYTES ? length : 0, list);
        if (strstr(path, "libmemscope_null.so"))
            return ms_cli_fail(
                err, MS_ERR_USAGE,
                "LD_PRELOAD already names the null device: unset it, memscope sets it itself");
        if (strchr(path, '/') && access(path, R_OK) != 0)
            return ms_cli_fail(err, MS_ERR_USAGE, "LD_PRELOAD names %.100s: %s", path,
                               strerror(errno));
        list += length + (list[length] != '\0');
    }
    return MS_OK;
}

bool ms_cli_is_static(const char *name)
{
    executable e;
    return look_at(name, &e) && e.is_elf && e.is_static;
}
