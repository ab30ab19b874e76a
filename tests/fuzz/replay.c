/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Feeds files to a fuzz target without a fuzzing engine: what was found once is checked by every
 * plain test run. Arguments are files, or folders of files.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"

enum { MAX_INPUT_BYTES = 1 << 20 };

static int replay_file(const char *path)
{
    static unsigned char buffer[MAX_INPUT_BYTES];
    FILE *in = fopen(path, "rb");
    if (!in)
        return 0;
    size_t length = fread(buffer, 1, sizeof buffer, in);
    int readable = !ferror(in);
    fclose(in);
    if (!readable)
        return 0;
    /* A block of its own size, so that a sanitizer sees a read past the end. */
    unsigned char *copy = malloc(length ? length : 1);
    if (!copy)
        return 0;
    for (size_t i = 0; i < length; i++)
        copy[i] = buffer[i];
    LLVMFuzzerTestOneInput(copy, length);
    free(copy);
    return 1;
}

static int replay_folder(const char *path)
{
    int count = 0;
    DIR *folder = opendir(path);
    if (!folder)
        return replay_file(path);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[1024];
        if (entry->d_name[0] == '.')
            continue;
        int length = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (length > 0 && (size_t)length < sizeof name)
            count += replay_file(name);
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++)
        count += replay_folder(argv[i]);
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
