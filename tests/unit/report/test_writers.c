/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The registry: each row is found under its name and lists its document's formats in full, and one
 * place notices what could not be written.
 */
#include <errno.h>
#include <string.h>

#include "report/writers.h"

#include "unit/support.h"

/* ---- names ---- */

typedef struct names_case {
    const char *label;
    ms_document document;
    unsigned without;
    const char *last, *names;
} names_case;

static const names_case names_cases[] = {
    {"all of a plan", MS_DOCUMENT_PLAN, MS_NEEDS_NOTHING, "and",
     "console, json, md, csv, svg and html"},
    {"without a curve", MS_DOCUMENT_PLAN, MS_NEEDS_CURVE, "or", "console, json, md or html"},
    {"without times", MS_DOCUMENT_PLAN, MS_NEEDS_RATES, "and", "console, json, md, csv and html"},
    {"four", MS_DOCUMENT_FIT, MS_NEEDS_NOTHING, "or", "console, json, md or html"},
    {"the longest", MS_DOCUMENT_CHECK, MS_NEEDS_NOTHING, "or",
     "console, human, json, md, junit, github, sarif, gitlab, custom-smaller-is-better, shields or "
     "prometheus"},
};

static void check_names(void **state)
{
    const names_case *c = *state;
    char text[MS_WRITER_NAMES_TEXT];
    assert_string_equal(ms_writer_names(c->document, c->without, c->last, text), c->names);
}

/* ---- rows ---- */

static void every_row_is_found(void **state)
{
    (void)state;
    for (int d = 0; d < MS_DOCUMENT_COUNT; d++) {
        ms_document document = (ms_document)d;
        const ms_report_format *format;
        char names[MS_WRITER_NAMES_TEXT];
        ms_writer_names(document, MS_NEEDS_NOTHING, "and", names);
        assert_true(strlen(names) + 1 < sizeof names); /* none is cut off */
        assert_string_equal(ms_writer_name_at(document, 0), "console");
        for (size_t i = 0; (format = ms_writer_format_at(document, i)) != NULL; i++) {
            const ms_writer *writer = ms_writer_find(document, format->name, NULL);
            assert_ptr_equal(&writer->format, format); /* the first of that name */
            assert_int_equal(writer->document, document);
            assert_true(*format->help && *format->file_name);
            assert_non_null(strstr(names, format->name));
        }
    }
}

static void others_are_refused(void **state)
{
    (void)state;
    ms_error err = {0};
    assert_null(ms_writer_find(MS_DOCUMENT_DIFF, "svg", &err));
    assert_int_equal(err.status, MS_ERR_USAGE);
    assert_string_equal(err.text,
                        "no format \"svg\" of a comparison; there are console, json, md and html");
    assert_null(ms_writer_find(MS_DOCUMENT_DIFF, "", NULL));
    assert_null(ms_writer_format_at(MS_DOCUMENT_DIFF, SIZE_MAX));
    assert_null(ms_writer_name_at(MS_DOCUMENT_DIFF, SIZE_MAX));
}

/* ---- writing ---- */

static bool write_line(FILE *out, const void *view)
{
    return fprintf(out, "%s\n", (const char *)view) > 0;
}

static bool run_short(FILE *out, const void *view)
{
    (void)out, (void)view;
    return false;
}

typedef struct write_case {
    const char *label, *path;
    bool (*write)(FILE *out, const void *view);
    ms_status status;
    const char *text;
} write_case;

static const write_case write_cases[] = {
    {"whole", "/dev/null", write_line, MS_OK, ""},
    {"full disk", "/dev/full", write_line, MS_ERR_IO,
     "cannot write the tsv report: No space left on device"},
    {"no memory", "/dev/null", run_short, MS_ERR_NOMEM, "no memory for the tsv report"},
};

static void check_write(void **state)
{
    const write_case *c = *state;
    const ms_writer writer = {{"tsv", "", ""}, MS_DOCUMENT_FIT, MS_NEEDS_NOTHING, c->write};
    ms_error err = {0};
    FILE *out = fopen(c->path, "w");
    if (!out)
        skip();
    errno = ENOENT; /* of something else, before */
    assert_int_equal(ms_writer_write(&writer, "a line", NULL, out, &err), c->status);
    assert_string_equal(err.text, c->text);
    fclose(out);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(names_cases) + COUNT_OF(write_cases) + 2];
    size_t count = ADD_ROWS(tests, check_names, names_cases);
    count += ADD_ROWS(tests + count, check_write, write_cases);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(every_row_is_found);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(others_are_refused);
    return _cmocka_run_group_tests("writers", tests, count, NULL, NULL);
}
