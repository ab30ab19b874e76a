/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/locale.h"

#include <locale.h>
#include <stdlib.h>

/* What the thread had before. */
typedef struct held {
    locale_t own, before;
} held;

/* libc has that locale ready: nothing is allocated that could fail. */
static held hold_locale(void)
{
    held h = {.own = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    h.before = uselocale(h.own);
    return h;
}

static void release_locale(held h)
{
    uselocale(h.before);
    if (h.own)
        freelocale(h.own);
}

int ms_text_vprint(char *out, size_t size, const char *format, va_list args)
{
    held h = hold_locale();
    int length = vsnprintf(out, size, format, args);
    release_locale(h);
    return length;
}

int ms_text_print(char *out, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = ms_text_vprint(out, size, format, args);
    va_end(args);
    return length;
}

double ms_number_read(const char *text, char **end)
{
    held h = hold_locale();
    double number = strtod(text, end);
    release_locale(h);
    return number;
}
