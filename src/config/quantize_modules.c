/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which linear layers a loader converts: transformers' should_convert_module. A name excepts every
 * module whose path begins with it, up to a boundary between modules, or ends with it; it may be a
 * regular expression.
 */
#include <string.h>

#include "config/pattern.h"
#include "config/quantize.h"

enum { MAX_PATH = 256 };

/* Whether a pattern may end behind that many bytes of a path. */
static bool is_boundary(const char *path, size_t length)
{
    return (length > 0 && path[length - 1] == '.') || path[length] == '.' || path[length] == '\0';
}

/* Of a pattern without operators but dots: a dot is any character. */
static bool begins_plainly(const char *path, const char *pattern)
{
    size_t i = 0;
    for (; pattern[i]; i++)
        if (!path[i] || (pattern[i] != '.' && pattern[i] != path[i]))
            return false;
    return is_boundary(path, i);
}

static ms_status begins_with(const char *path, const char *text, bool *does, ms_error *err)
{
    ms_pattern *pattern = NULL;
    char beginning[MAX_PATH];
    bool ran_out = false;
    ms_status status = ms_pattern_new("(", text, ")", &pattern, err);
    for (size_t length = strlen(path); status == MS_OK && length > 0 && !*does; length--) {
        if (!is_boundary(path, length))
            continue;
        memcpy(beginning, path, length);
        beginning[length] = '\0';
        *does = ms_pattern_matches(pattern, beginning, &ran_out);
        if (ran_out)
            status = ms_fail(err, MS_ERR_NOMEM, "out of memory for the names of modules");
    }
    ms_pattern_free(pattern);
    return status;
}

static ms_status excepts(const char *path, const char *text, bool *does, ms_error *err)
{
    size_t length = strlen(path), end = strlen(text);
    *does = (end <= length && strcmp(path + length - end, text) == 0) || begins_plainly(path, text);
    if (*does || !strpbrk(text, "^$*+?{}[]()|\\") || length >= MAX_PATH)
        return MS_OK;
    return begins_with(path, text, does, err);
}

ms_status ms_quantization_converts(const ms_quantization *quantization, const char *module,
                                   bool is_head, bool *converts, ms_error *err)
{
    bool is_excepted = is_head && (!quantization->exceptions || quantization->is_default_excepted);
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < quantization->exception_count && status == MS_OK && !is_excepted; i++)
        status = excepts(module, quantization->exceptions[i], &is_excepted, err);
    *converts = !is_excepted;
    return status;
}
