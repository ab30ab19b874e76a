/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/capture/command_words.h"

#include <ctype.h>
#include <string.h>

enum { MOST_BYTES = 4096, NAME_BYTES = 64 };
static const char mask[] = "***";

static bool has_part(const char *name, const char *const *parts)
{
    for (; *parts; parts++)
        if (strstr(name, *parts))
            return true;
    return false;
}

/* Whether an option of that name has a secret as its value: --api-key, HF_TOKEN. */
static bool names_secret(const char *word, size_t bytes)
{
    static const char *const parts[] = {"token",   "passw",   "secret", "credential", "apikey",
                                        "api-key", "api_key", "auth",   NULL};
    /* Numbers of tokens, and files. */
    static const char *const others[] = {"tokens", "-file", "author", "tokenize", NULL};
    char name[NAME_BYTES];
    if (bytes >= sizeof name)
        return false;
    for (size_t i = 0; i < bytes; i++)
        name[i] = (char)tolower((unsigned char)word[i]);
    name[bytes] = '\0';
    return has_part(name, parts) && !has_part(name, others);
}

static bool looks_secret(const char *word)
{
    static const char *const beginnings[] = {"hf_", "sk-",  "ghp_", "github_pat_", "glpat-",
                                             "xox", "AKIA", "AIza", "nvapi-",      NULL};
    for (const char *const *b = beginnings; *b; b++)
        if (strncmp(word, *b, strlen(*b)) == 0 && strlen(word) >= strlen(*b) + 8)
            return true;
    return false;
}

/* An absolute path is its last part. */
static const char *shown_path(const char *word, bool hides_paths)
{
    const char *slash = strrchr(word, '/');
    return slash && slash[1] && (word[0] == '/' || hides_paths) ? slash + 1 : word;
}

static void put_text(FILE *out, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes && i < MOST_BYTES; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < ' ')
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
}

static void write_word(FILE *out, const char *word, bool hides_paths)
{
    const char *equals = strchr(word, '=');
    size_t name = equals ? (size_t)(equals - word) + 1 : 0;
    const char *value = word + name;
    put_text(out, word, name);
    if ((name > 0 && names_secret(word, name - 1)) || looks_secret(value))
        value = mask;
    value = shown_path(value, hides_paths);
    put_text(out, value, strlen(value));
}

void ms_cli_write_command(FILE *out, char *const *words, bool hides_paths)
{
    bool is_value = false; /* of the option before */
    for (size_t i = 0; words[i]; i++) {
        const char *word = words[i];
        bool is_option = word[0] == '-';
        fputs(i > 0 ? ", \"" : "\"", out);
        write_word(out, is_value && !is_option ? mask : word, hides_paths);
        fputc('"', out);
        is_value = is_option && !strchr(word, '=') && names_secret(word, strlen(word));
    }
}
