/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/output/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

ms_status ms_cli_fail(ms_error *err, ms_status status, const char *format, ...)
{
    if (err->status != MS_OK)
        return err->status;
    char text[2 * sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ms_printable(text, err->text, sizeof err->text);
    return err->status = status;
}

ms_status ms_cli_fail_errno(ms_error *err, const char *what, const char *path)
{
    int reason = errno;
    return ms_cli_fail(err, reason == ENOMEM ? MS_ERR_NOMEM : MS_ERR_IO, "cannot %s %.160s: %s",
                       what, path, strerror(reason));
}

/* Blanks under the excerpt up to the place, then the marks; tabs stay tabs so that they line up. */
static void print_caret(const ms_error *err)
{
    fprintf(stderr, "  %s\n  ", err->excerpt);
    uint32_t column = 0;
    for (const char *c = err->excerpt; *c && column < err->caret; c++) {
        if (((unsigned char)*c & 0xc0) == 0x80)
            continue; /* inside a character */
        fputc(*c == '\t' ? '\t' : ' ', stderr);
        column++;
    }
    fputc('^', stderr);
    for (uint32_t i = 1; i < err->caret_length; i++)
        fputc('~', stderr);
    fputc('\n', stderr);
}

const char *ms_cli_printable(const char *text, char out[MS_CLI_PRINTABLE_BYTES])
{
    ms_printable(text, out, MS_CLI_PRINTABLE_BYTES);
    return out;
}

void ms_cli_say(const char *format, ...)
{
    char text[MS_CLI_PRINTABLE_BYTES], shown[MS_CLI_PRINTABLE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "%s\n", ms_cli_printable(text, shown));
}

int ms_cli_complain(const ms_error *err)
{
    char file[MS_CLI_PRINTABLE_BYTES], pointer[MS_CLI_PRINTABLE_BYTES];
    ms_cli_printable(err->file, file);
    if (err->file[0] && err->line)
        fprintf(stderr, "%s:%u:%u: ", file, (unsigned)err->line, (unsigned)err->column);
    else if (err->file[0])
        fprintf(stderr, "%s: ", file);
    else
        fputs("memscope: ", stderr);
    if (err->pointer[0]) /* a path into a file, or a field of the run */
        fprintf(stderr, "%s%s: ", err->pointer[0] == '/' || err->file[0] ? "" : "--",
                ms_cli_printable(err->pointer, pointer));
    fprintf(stderr, "%s\n", err->text[0] ? err->text : ms_status_text(err->status));
    if (err->excerpt[0])
        print_caret(err);
    fputs(err->more, stderr);
    return ms_status_exit_code(err->status);
}

int ms_cli_no_memory(void)
{
    ms_error err = {.status = MS_OK};
    ms_cli_fail(&err, MS_ERR_NOMEM, "out of memory");
    return ms_cli_complain(&err);
}

enum { MAX_NAME = 40 };

/* Levenshtein distance; both names are short. */
static size_t distance(const char *a, const char *b)
{
    size_t row[MAX_NAME + 1], width = strlen(b);
    if (width > MAX_NAME)
        return SIZE_MAX;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
            size_t shorter = row[j] < row[j - 1] ? row[j] : row[j - 1];
            diagonal = row[j];
            row[j] = substituted < shorter + 1 ? substituted : shorter + 1;
        }
    }
    return row[width];
}

/* The name that is nearest, if it is near. */
static const char *nearest(const char *name, ms_cli_name_at name_at, const void *list)
{
    const char *best = NULL;
    size_t length = strlen(name), limit = length < 4 ? 1 : length < 9 ? 2 : 3;
    const char *candidate;
    for (size_t i = 0; (candidate = name_at(list, i)) != NULL; i++) {
        size_t d = distance(name, candidate);
        if (d <= limit) {
            best = candidate;
            if (d == 0)
                break;
            limit = d - 1;
        }
    }
    return best;
}

const char *ms_cli_hint(const char *name, ms_cli_name_at name_at, const void *list,
                        const char *dashes, char out[MS_CLI_HINT_BYTES])
{
    const char *near = nearest(name, name_at, list);
    out[0] = '\0';
    if (near)
        snprintf(out, MS_CLI_HINT_BYTES, "; did you mean %s%s?", dashes, near);
    return out;
}
