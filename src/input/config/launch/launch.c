/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/launch/launch.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/document.h"
#include "base/json/read.h"
#include "base/json/yaml.h"
#include "input/config/launch/launch_words.h"
#include "input/config/launch/launchers.h"
#include "input/config/launch/programs.h"
#include "input/config/launch/shell/shell.h"
#include "input/config/model/input.h"

/* ---- launch document ---- */

/* Words as a document: the text has each word on the line where the launch has it, so that
 * places are those of the launch. */

enum { MOST_NODES = 1 << 13, MOST_DEPTH = 16 };

/* A member; children follow by index. */
typedef struct node {
    const char *name; /* NULL: of a list */
    uint32_t start, bytes, key_start, key_bytes;
    uint32_t first, next; /* 0: none */
    ms_json_kind kind;
    const char *text; /* of a scalar */
    bool is_quoted;
} node;

typedef struct building {
    const ms_launch *launch;
    ms_json *document;
    ms_vec(node) nodes;
    ms_vec(char) text;
    uint32_t *starts; /* of each word in the text */
    ms_error *err;
} building;

static ms_status launch_document_fail_memory(const building *b)
{
    return ms_fail(b->err, MS_ERR_NOMEM, "out of memory for the launch");
}

/* ---- the text ---- */

static bool put_text(building *b, const char *text)
{
    bool is_kept = true;
    for (; *text && is_kept; text++)
        is_kept = ms_vec_push(&b->text, *text == '\n' ? ' ' : *text);
    return is_kept;
}

static ms_status write_words(building *b)
{
    const ms_launch *l = b->launch;
    uint32_t line = 1;
    bool is_kept = true;
    for (uint32_t i = 0; i < l->count && is_kept; i++) {
        bool is_first = i == 0;
        for (; line < l->words[i].line && is_kept; line++, is_first = true)
            is_kept = ms_vec_push(&b->text, '\n');
        if (!is_first && is_kept)
            is_kept = ms_vec_push(&b->text, ' ');
        b->starts[i] = b->text.count;
        is_kept = is_kept && put_text(b, l->words[i].text);
    }
    return is_kept ? MS_OK : launch_document_fail_memory(b);
}

/* ---- nodes ---- */

static ms_status add_node(building *b, uint32_t parent, node made, uint32_t *index)
{
    uint32_t *link = &b->nodes.items[parent].first;
    if (b->nodes.count == MOST_NODES)
        return ms_fail(b->err, MS_ERR_LIMIT, "more than %d settings in a launch", MOST_NODES);
    while (*link)
        link = &b->nodes.items[*link].next;
    *link = *index = b->nodes.count;
    return ms_vec_push(&b->nodes, made) ? MS_OK : launch_document_fail_memory(b);
}

/* The member of that name; a later setting takes the place of an earlier one. */
static ms_status find_member(building *b, uint32_t parent, const char *name, node made,
                             uint32_t *index)
{
    for (uint32_t i = b->nodes.items[parent].first; i; i = b->nodes.items[i].next)
        if (b->nodes.items[i].name && strcmp(b->nodes.items[i].name, name) == 0) {
            *index = i;
            return MS_OK;
        }
    made.name = ms_arena_strdup(b->launch->arena, name);
    return made.name ? add_node(b, parent, made, index) : launch_document_fail_memory(b);
}

/* ---- values as YAML has them in a line: [a, b], {c: d} ---- */

typedef struct flow {
    building *b;
    const char *text;
    uint32_t at, start; /* where the text begins in the document's */
    uint32_t depth;
} flow;

static void skip_blanks(flow *f)
{
    while (f->text[f->at] == ' ')
        f->at++;
}

/* False: it is none. */
static bool read_scalar(flow *f, node *made)
{
    char quote = f->text[f->at];
    made->is_quoted = quote == '"' || quote == '\'';
    uint32_t start = f->at + made->is_quoted;
    const char ends[] = {quote, '\0'};
    f->at = start + (uint32_t)strcspn(f->text + start, made->is_quoted ? ends : ",[]{}:");
    uint32_t bytes = f->at - start;
    if (made->is_quoted && !f->text[f->at])
        return false;
    f->at += made->is_quoted;
    while (!made->is_quoted && bytes > 0 && f->text[start + bytes - 1] == ' ')
        bytes--;
    made->start = f->start + start;
    made->bytes = bytes;
    made->text = ms_arena_printf(f->b->launch->arena, "%.*s", (int)bytes, f->text + start);
    return made->text && (bytes > 0 || made->is_quoted);
}

static bool read_flow(flow *f, uint32_t index);

static bool read_item(flow *f, uint32_t index, bool is_object)
{
    node key = {0}, made = {0};
    uint32_t item;
    skip_blanks(f);
    if (is_object) {
        if (!read_scalar(f, &key))
            return false;
        skip_blanks(f);
        if (f->text[f->at++] != ':')
            return false;
        made = (node){.name = key.text, .key_start = key.start, .key_bytes = key.bytes};
    }
    return add_node(f->b, index, made, &item) == MS_OK && read_flow(f, item);
}

static bool read_items(flow *f, uint32_t index, char close)
{
    f->at++;
    for (bool is_first = true;; is_first = false) {
        skip_blanks(f);
        if (f->text[f->at] == close)
            break;
        if (!is_first && f->text[f->at++] != ',')
            return false;
        if (!read_item(f, index, close == '}'))
            return false;
    }
    f->at++;
    return true;
}

/* The value at `at`, into a node that is there. */
static bool read_flow(flow *f, uint32_t index)
{
    skip_blanks(f);
    char c = f->text[f->at];
    if (c == '[' || c == '{') {
        uint32_t start = f->at;
        if (++f->depth > MOST_DEPTH || !read_items(f, index, c == '[' ? ']' : '}'))
            return false;
        f->depth--;
        node *made = &f->b->nodes.items[index];
        made->kind = c == '[' ? MS_JSON_ARRAY : MS_JSON_OBJECT;
        made->start = f->start + start;
        made->bytes = f->at - start;
        return true;
    }
    node made = f->b->nodes.items[index];
    bool is_one = read_scalar(f, &made);
    made.kind = MS_JSON_STRING;
    f->b->nodes.items[index] = made;
    return is_one;
}

static ms_status take_value(building *b, ms_launch_value value, uint32_t index)
{
    const char *text = ms_launch_text(b->launch, value);
    uint32_t nodes = b->nodes.count;
    flow f = {.b = b, .text = text, .start = b->starts[value.word] + value.offset};
    if (*text == '[' || *text == '{') {
        if (read_flow(&f, index) && !text[f.at])
            return MS_OK;
        if (b->err && b->err->status != MS_OK)
            return b->err->status;
        b->nodes.count = nodes; /* it is a text */
        b->nodes.items[index].first = 0;
    }
    node *made = &b->nodes.items[index];
    made->kind = MS_JSON_STRING;
    made->text = text;
    made->start = f.start;
    made->bytes = (uint32_t)strlen(text);
    return MS_OK;
}

/* ---- settings ---- */

/* Whether the word is the option itself: "--bf16" of bf16; one that has the value, "--n=4", gives
 * its place. */
static bool is_of_word(const building *b, const ms_launch_setting *s, node *made)
{
    ms_launch_option option;
    if (!ms_launch_option_at(b->launch, s->word, &option) || strcmp(option.name, s->key) != 0)
        return false;
    if (option.has_value && strcmp(ms_launch_text(b->launch, option.value), s->constant) == 0) {
        made->start = b->starts[s->word] + option.value.offset;
        made->bytes = (uint32_t)strlen(s->constant);
    }
    return true;
}

static ms_status take_constant(building *b, const ms_launch_setting *s, uint32_t index)
{
    node *made = &b->nodes.items[index];
    made->kind = MS_JSON_STRING;
    made->text = s->constant;
    made->start = made->key_start;
    made->bytes = made->key_bytes;
    if (!s->key || !s->constant || is_of_word(b, s, made))
        return MS_OK;
    /* What words come to stands behind them: "num_processes=4". */
    made->key_start = b->text.count + 1;
    made->key_bytes = (uint32_t)strlen(s->key);
    made->start = made->key_start + made->key_bytes + 1;
    made->bytes = (uint32_t)strlen(s->constant);
    bool is_kept =
        put_text(b, " ") && put_text(b, s->key) && put_text(b, "=") && put_text(b, s->constant);
    return is_kept ? MS_OK : launch_document_fail_memory(b);
}

static ms_status take_values(building *b, const ms_launch_setting *s, uint32_t index)
{
    const ms_launch_value *values = b->launch->values.items + s->first;
    ms_status status = MS_OK;
    b->nodes.items[index].first = 0;
    if (s->constant)
        return take_constant(b, s, index);
    if (s->count == 1 && !s->is_list)
        return take_value(b, values[0], index);
    for (uint32_t i = 0; i < s->count && status == MS_OK; i++) {
        uint32_t item;
        status = add_node(b, index, (node){0}, &item);
        if (status == MS_OK)
            status = take_value(b, values[i], item);
    }
    node *made = &b->nodes.items[index];
    const ms_launch_value last = values[s->count - 1];
    made->kind = MS_JSON_ARRAY;
    made->start = b->starts[values[0].word] + values[0].offset;
    made->bytes =
        b->starts[last.word] + (uint32_t)strlen(b->launch->words[last.word].text) - made->start;
    return status;
}

static ms_status take_setting(building *b, const ms_launch_setting *s)
{
    char name[128];
    uint32_t index = 0, depth = 0;
    const char *left = s->key;
    const char *word = b->launch->words[s->word].text;
    const uint32_t dashes = (uint32_t)strspn(word, "-+~");
    const uint32_t start = b->starts[s->word] + dashes;
    const uint32_t bytes = (uint32_t)strcspn(word + dashes, "=");
    const node made = {.key_start = start,
                       .key_bytes = bytes,
                       .start = start,
                       .bytes = bytes,
                       .kind = MS_JSON_OBJECT};
    while (left) {
        size_t length = s->is_dotted ? strcspn(left, ".") : strlen(left);
        if (length == 0 || length >= sizeof name || ++depth > MOST_DEPTH)
            return ms_launch_fail(b->launch, s->word, "'%.60s' is not the name of a setting",
                                  s->key);
        memcpy(name, left, length);
        name[length] = '\0';
        b->nodes.items[index].kind = MS_JSON_OBJECT;
        ms_status status = find_member(b, index, name, made, &index);
        if (status != MS_OK)
            return status;
        left = left[length] ? left + length + 1 : NULL;
    }
    return take_values(b, s, index);
}

/* ---- the document ---- */

static cJSON *scalar_of(const node *n, ms_json_kind *kind)
{
    *kind = MS_JSON_STRING;
    return n->is_quoted || !*n->text ? cJSON_CreateString(n->text) : ms_yaml_plain(n->text, kind);
}

static ms_status emit(building *b, uint32_t at, uint32_t parent, uint32_t item, cJSON *into)
{
    const node *n = &b->nodes.items[at];
    ms_json_spans *spans = &b->document->spans;
    uint32_t index = spans->count, count = 0;
    ms_json_kind kind = n->kind;
    bool is_object = kind == MS_JSON_OBJECT;
    cJSON *tree = is_object               ? cJSON_CreateObject()
                  : kind == MS_JSON_ARRAY ? cJSON_CreateArray()
                                          : scalar_of(n, &kind);
    const ms_json_span span = {.start = n->start,
                               .bytes = n->bytes,
                               .key_start = n->key_start,
                               .key_bytes = n->key_bytes,
                               .parent = parent,
                               .item = item,
                               .kind = kind,
                               .is_raw = true};
    bool is_kept = tree && (!into     ? (b->document->tree = tree) != NULL
                            : n->name ? cJSON_AddItemToObject(into, n->name, tree)
                                      : cJSON_AddItemToArray(into, tree));
    if (!is_kept)
        cJSON_Delete(tree);
    if (!is_kept || !ms_vec_push(spans, span))
        return launch_document_fail_memory(b);
    ms_status status = MS_OK;
    for (uint32_t i = n->first; i && status == MS_OK; i = b->nodes.items[i].next)
        status = emit(b, i, index, count++, tree);
    spans->items[index].after = spans->count;
    return status;
}

static ms_status build(building *b, const ms_launch_settings *settings)
{
    ms_status status = write_words(b);
    if (status == MS_OK && !ms_vec_push(&b->nodes, ((node){.kind = MS_JSON_OBJECT})))
        status = launch_document_fail_memory(b);
    for (uint32_t i = 0; i < settings->count && status == MS_OK; i++)
        status = take_setting(b, &settings->items[i]);
    if (status == MS_OK)
        status = emit(b, 0, 0, 0, NULL);
    b->document->source =
        (ms_json_source){b->launch->shell.source.name, b->text.items, b->text.count};
    if (status == MS_OK && !ms_json_marks_make(&b->document->source, &b->document->marks))
        status = launch_document_fail_memory(b);
    return status;
}

ms_status ms_launch_document(const ms_launch *launch, const ms_launch_settings *settings,
                             ms_json **document, char **text, ms_error *err)
{
    *document = NULL;
    *text = NULL;
    if (settings->count == 0)
        return MS_OK;
    building b = {.launch = launch, .document = calloc(1, sizeof(ms_json)), .err = err};
    b.starts = calloc(launch->count ? launch->count : 1, sizeof *b.starts);
    ms_status status =
        b.document && b.starts ? build(&b, settings) : launch_document_fail_memory(&b);
    ms_vec_free(&b.nodes);
    free(b.starts);
    if (status == MS_OK) {
        *document = b.document;
        *text = b.text.items;
        return MS_OK;
    }
    ms_json_free(b.document);
    ms_vec_free(&b.text);
    return status;
}

/* ---- launch ---- */

static ms_status fail_memory(const ms_launch *l)
{
    return ms_fail(l->err, MS_ERR_NOMEM, "out of memory for the launch");
}

/* ---- which command is the launch ---- */

typedef struct choice {
    ms_launch *l;
    ms_launch_class class;
    uint32_t line;
    ms_shell_word *words;
    uint32_t count;
    uint32_t equals; /* of the same class */
    uint32_t second;
    bool is_inner;
} choice;

static ms_status consider(void *context, const ms_shell *shell, const ms_shell_words *words,
                          bool is_inner)
{
    choice *c = context;
    ms_launch_class class = ms_launch_class_of(words);
    if (class == MS_LAUNCH_NONE ||
        (c->class != MS_LAUNCH_NONE && c->class != MS_LAUNCH_SCRIPT && class == MS_LAUNCH_SCRIPT) ||
        (class < c->class && c->class != MS_LAUNCH_SCRIPT))
        return MS_OK;
    if (class == c->class) {
        c->second = c->equals++ ? c->second : words->items[0].line;
        return MS_OK;
    }
    c->class = class;
    c->equals = 0;
    c->line = words->items[0].line;
    c->is_inner = is_inner;
    c->count = words->count;
    c->words = ms_arena_array(shell->arena, ms_shell_word, words->count);
    if (!c->words)
        return fail_memory(c->l);
    memcpy(c->words, words->items, words->count * sizeof *c->words);
    return MS_OK;
}

static ms_status choose(const choice *c)
{
    const ms_launch *l = c->l;
    if (c->class == MS_LAUNCH_NONE)
        return ms_shell_fail(
            &l->shell, 1, MS_ERR_CONFIG,
            "no launch was found; memscope reads accelerate launch, torchrun, deepspeed, trl, "
            "llamafactory-cli, axolotl, swift, tune run and python");
    if (c->equals)
        return ms_shell_fail(&l->shell, c->second, MS_ERR_CONFIG,
                             "this is a second launch, besides that of line %u: give the one that "
                             "you mean (--launch 'accelerate launch ...')",
                             (unsigned)c->line);
    if (c->is_inner)
        return ms_shell_fail(
            &l->shell, c->line, MS_ERR_CONFIG,
            "this launch is inside a loop, a condition or a function, which memscope does not "
            "follow: give the launch (--launch 'accelerate launch ...')");
    return MS_OK;
}

/* ---- texts and scripts ---- */

static ms_status read_text(ms_launch *l, uint32_t depth);

static ms_status open_script(ms_launch *l, const char *path)
{
    free(l->text);
    l->shell.at = l->shell.words.count = l->shell.blocks.count = l->shell.heredoc_count = 0;
    l->beside = path;
    return ms_json_read(ms_arena_inputs(l->arena), path, &l->shell.source, &l->text, l->err);
}

/* "bash train.sh 8": the script, with its arguments. */
static ms_status follow(ms_launch *l, const choice *c, uint32_t depth)
{
    enum { MOST = 4 };
    bool is_one = true;
    uint32_t at = 0, first;
    ms_status status = MS_OK;
    for (; at < c->count && is_one && status == MS_OK; at += is_one)
        status = ms_shell_assign(&l->shell, &c->words[at], false, &is_one);
    while (at < c->count && (strstr(c->words[at].text, ".sh") == NULL))
        at++;
    if (status != MS_OK || at == c->count || depth == MOST)
        return status != MS_OK ? status
                               : ms_shell_fail(&l->shell, c->line, MS_ERR_CONFIG,
                                               "this script is not followed");
    first = at + 1;
    for (uint32_t i = first; i < c->count && status == MS_OK; i++) {
        const char *name = ms_arena_printf(l->arena, "%u", (unsigned)(i - at));
        status = name ? ms_shell_set(&l->shell, name, &c->words[i], 1, false) : fail_memory(l);
    }
    if (status == MS_OK)
        status = ms_shell_set(&l->shell, "@", c->words + first, c->count - first, true);
    const char *path = c->words[at].text;
    if (!ms_is_there(path) && l->beside)
        path = ms_path_beside(l->arena, l->beside, path);
    if (status == MS_OK)
        status = path ? open_script(l, path) : fail_memory(l);
    return status == MS_OK ? read_text(l, depth + 1) : status;
}

static ms_status read_text(ms_launch *l, uint32_t depth)
{
    choice c = {.l = l};
    uint32_t at = 0;
    ms_status status = ms_shell_read(&l->shell, consider, &c);
    if (status == MS_OK)
        status = choose(&c);
    if (status != MS_OK)
        return status;
    if (c.class == MS_LAUNCH_SCRIPT)
        return follow(l, &c, depth);
    l->words = c.words;
    l->count = c.count;
    status = ms_launch_take_launchers(l, &at);
    return status == MS_OK ? ms_launch_take_program(l, at) : status;
}

ms_status ms_launch_read(ms_arena *arena, const char *text, const char *run_path, ms_launch *l,
                         ms_notes *notes, ms_error *err)
{
    *l = (ms_launch){.arena = arena, .notes = notes, .err = err, .beside = run_path};
    l->shell = (ms_shell){.arena = arena, .err = err};
    if (*text == '@') {
        const char *path = run_path ? ms_path_beside(arena, run_path, text + 1) : text + 1;
        ms_status status = path ? open_script(l, path) : fail_memory(l);
        return status == MS_OK ? read_text(l, 0) : status;
    }
    l->shell.source = (ms_json_source){"the command line", text, strlen(text)};
    return read_text(l, 0);
}

void ms_launch_end(ms_launch *l)
{
    ms_shell_end(&l->shell);
    ms_vec_free(&l->launcher);
    ms_vec_free(&l->trainer);
    ms_vec_free(&l->values);
    free(l->text);
    l->text = NULL;
}
