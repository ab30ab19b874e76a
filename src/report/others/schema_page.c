/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/others/schema_page.h"

#include <string.h>

#include "base/json/value.h"
#include "memscope/memscope.h"

enum { MOST_DEPTH = 6, PATH_BYTES = 256 };

static void put(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\\')
            fputs("\\e", out);
        else
            fputc(*text, out);
}

static const char *text_of(ms_json_value object, const char *key)
{
    ms_json_value value;
    const char *text = NULL;
    if (!ms_json_find(object, key, &value) || ms_json_kind_of(value) != MS_JSON_STRING ||
        ms_json_get_string(value, &text, NULL) != MS_OK)
        return NULL;
    return text;
}

/* What "$ref": "#/definitions/bytes" refers to. */
static ms_json_value resolve(ms_json_value root, ms_json_value member)
{
    ms_json_value found;
    const char *reference = text_of(member, "$ref");
    bool is_known =
        reference && *reference == '#' && ms_json_find_pointer(root, reference + 1, &found);
    return is_known ? found : member;
}

/* "integer or null", "one of a, b" */
static void put_list(FILE *out, ms_json_value list, const char *between)
{
    ms_json_value item;
    const char *before = "";
    for (bool more = ms_json_first(list, &item); more; more = ms_json_next(&item)) {
        const char *text = NULL;
        if (ms_json_kind_of(item) == MS_JSON_STRING)
            (void)ms_json_get_string(item, &text, NULL);
        fputs(before, out);
        put(out, text ? text : "null");
        before = between;
    }
}

static void put_type(FILE *out, ms_json_value member)
{
    ms_json_value value;
    const char *type = text_of(member, "type");
    if (type)
        fprintf(out, "(%s)", type);
    else if (ms_json_find(member, "type", &value)) {
        fputc('(', out);
        put_list(out, value, " or ");
        fputc(')', out);
    } else if (ms_json_find(member, "enum", &value)) {
        fputs("(one of ", out);
        put_list(out, value, ", ");
        fputc(')', out);
    }
}

/* Text of a request's line must not begin with a dot. */
static void put_sentence(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'' || *text == '\0')
        fputs("\\&", out);
    put(out, text);
    fputc('\n', out);
}

static void put_members(FILE *out, ms_json_value root, ms_json_value object, const char *path,
                        int depth)
{
    ms_json_value members, member;
    char name[PATH_BYTES];
    if (depth > MOST_DEPTH || !ms_json_find(object, "properties", &members))
        return;
    for (bool more = ms_json_first(members, &member); more; more = ms_json_next(&member)) {
        ms_json_value type = resolve(root, member), items;
        bool is_list = ms_json_find(type, "items", &items);
        snprintf(name, sizeof name, "%s%s%s%s", path, *path ? "." : "", ms_json_key(member),
                 is_list ? "[]" : "");
        fputs(".TP\n\\fB", out);
        put(out, name);
        fputs("\\fR ", out);
        put_type(out, type);
        fputc('\n', out);
        const char *said = text_of(member, "description");
        said = said ? said : text_of(type, "description");
        put_sentence(out, said ? said : "");
        put_members(out, root, is_list ? resolve(root, items) : type, name, depth + 1);
    }
}

ms_status ms_schema_page_write(const ms_embedded *schema, const char *page, FILE *out,
                               ms_error *err)
{
    const ms_json_source source = {schema->name, schema->text, schema->length};
    ms_json *document = NULL;
    ms_status status = ms_json_parse(&source, &document, err);
    if (status != MS_OK)
        return status;
    ms_json_value root = ms_json_root(document);
    const char *title = text_of(root, "title"), *said = text_of(root, "description");
    fputs(".\\\" Made by memscope help --man; do not edit.\n.TH MEMSCOPE\\-", out);
    for (const char *c = page; *c; c++)
        fputc(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c, out);
    fprintf(out, " 5 \"\" \"memscope %s\" \"File Formats\"\n.SH NAME\nmemscope\\-%s \\- ",
            MS_VERSION, page);
    put(out, title ? title : schema->name);
    fputs("\n.SH DESCRIPTION\n", out);
    put_sentence(out, said ? said : "A JSON file.");
    fprintf(out, ".PP\n\\fBmemscope schema %s\\fR prints its JSON Schema.\n.SH MEMBERS\n",
            schema->name);
    put_members(out, root, root, "", 0);
    fputs(".SH SEE ALSO\n.BR memscope (1)\n", out);
    ms_json_free(document);
    return MS_OK;
}
