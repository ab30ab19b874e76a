/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which linear layers a loader converts: transformers' should_convert_module. A name excepts every
 * module whose path begins with it, up to a boundary between modules, or ends with it; it may be a
 * regular expression.
 */
#include "input/config/quantize/quantize_modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/text/pattern.h"
#include "base/text/plain_names.h"
#include "input/config/quantize/quantize.h"

struct ms_exceptions {
    const ms_quantization *quantization;
    ms_plain_names *names;
    ms_pattern **patterns; /* one for each name; NULL for those without operators */
    uint64_t steps;        /* that matching may still take */
};

ms_status ms_exceptions_new(const ms_quantization *q, ms_exceptions **exceptions, ms_error *err)
{
    ms_exceptions *made = calloc(1, sizeof *made);
    *exceptions = NULL;
    if (made)
        made->patterns = calloc((size_t)q->exception_count + 1, sizeof(ms_pattern *));
    if (!made || !made->patterns) {
        free(made);
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the names of modules");
    }
    made->quantization = q;
    made->steps = MS_PATTERN_MOST_STEPS;
    ms_status status = ms_plain_names_new(q->exceptions, q->exception_count, &made->names, err);
    for (uint32_t i = 0; i < q->exception_count && status == MS_OK; i++)
        if (!ms_name_is_plain(q->exceptions[i]))
            status = ms_pattern_new(q->exceptions[i], &made->patterns[i], err);
    if (status == MS_OK)
        *exceptions = made;
    else
        ms_exceptions_free(made);
    return status;
}

void ms_exceptions_free(ms_exceptions *exceptions)
{
    if (!exceptions)
        return;
    for (uint32_t i = 0; i < exceptions->quantization->exception_count; i++)
        ms_pattern_free(exceptions->patterns[i]);
    free(exceptions->patterns);
    ms_plain_names_free(exceptions->names);
    free(exceptions);
}

/* Whether a pattern may end behind that many bytes of a path. */
static bool is_boundary(const char *path, size_t length)
{
    return (length > 0 && path[length - 1] == '.') || path[length] == '.' || path[length] == '\0';
}

static bool is_beginning(ms_exceptions *e, const char *path, size_t length)
{
    if (ms_plain_names_find_dotted(e->names, path, length, &e->steps) != MS_NO_NAME)
        return true;
    for (uint32_t i = 0; i < e->quantization->exception_count; i++)
        if (e->patterns[i] && ms_pattern_matches(e->patterns[i], path, 0, length, &e->steps))
            return true;
    return false;
}

static bool excepts(ms_exceptions *e, const char *path)
{
    size_t length = strlen(path);
    for (size_t start = 0; start <= length; start++)
        if (ms_plain_names_find(e->names, path + start, length - start) != MS_NO_NAME)
            return true;
    for (size_t end = length; end > 0; end--)
        if (is_boundary(path, end) && is_beginning(e, path, end))
            return true;
    return false;
}

/* optimum's rule: an end of the name, whether or not a module begins there. */
static bool is_named(ms_exceptions *e, const char *path)
{
    const ms_quantization *q = e->quantization;
    size_t length = strlen(path);
    for (uint32_t i = 0; i < q->converted_count && e->steps > 0; i++, e->steps--) {
        size_t end = strlen(q->converted[i]);
        if (end <= length && strcmp(path + length - end, q->converted[i]) == 0)
            return true;
    }
    return !q->converted;
}

bool ms_exceptions_convert(ms_exceptions *e, const char *module, bool is_head)
{
    const ms_quantization *q = e->quantization;
    bool is_excepted = is_head && (!q->exceptions || q->is_default_excepted);
    return !is_excepted && is_named(e, module) && !excepts(e, module);
}

bool ms_exceptions_gave_up(const ms_exceptions *exceptions)
{
    return exceptions->steps == 0;
}
