/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measured links, memory and products: for people, and as JSON (schemas/device_links.schema.json).
 */
#include <inttypes.h>
#include <string.h>

#include "base/json/members.h"
#include "decide/calibrate/links.h"
#include "memscope/probe.h"
#include "report/kit/tree/tree_writers.h"
#include "report/kit/documents.h"
#include "report/kit/writer_list.h"
#include "report/runtime/links_view.h"
#include "base/text/number.h"

/* ---- for people ---- */

static const struct kind_name {
    const char *kind, *title;
} kind_names[] = {
    {"to_device", "host to device"},
    {"to_host", "device to host"},
    {"both_ways", "both at once, in sum"},
    {"memory", "memory of the device"},
};

static const char *title_of(const ms_link_sample *s)
{
    size_t i = 0;
    while (strcmp(kind_names[i].kind, s->kind) != 0)
        i++;
    return kind_names[i].title;
}

static void add_copies(ms_tree *tree, const ms_links *links, bool is_host)
{
    static const ms_tree_column columns[] = {
        {"", .before = 2, .width = 24, .wide_head = "copy"},
        {"", .before = 1, .width = 10, .wide_head = "host memory"},
        {"", .before = 1, .width = 10, .is_figure = true, .wide_head = "size"},
        {"", .before = 1, .width = 10, .is_figure = true, .wide_head = "GB/s"}};
    ms_tree_section(tree, MS_ON_ALL, "copies", "Copies", "GB/s, the best of several");
    ms_tree_table *table = ms_tree_begin_table(tree, MS_ON_ALL, "The best of several", columns,
                                               sizeof columns / sizeof columns[0]);
    for (uint32_t i = 0; i < links->copies.count; i++) {
        const ms_link_sample *s = &links->copies.items[i];
        const bool is_inside = is_host || strcmp(s->kind, "memory") == 0;
        ms_tree_cell(tree, table, ms_cell_text(title_of(s)));
        ms_tree_cell(tree, table,
                     ms_cell_text(is_inside      ? ""
                                  : s->is_pinned ? "pinned"
                                                 : "not pinned"));
        ms_tree_cell(tree, table, ms_cell_bytes(s->bytes));
        ms_tree_cell(tree, table, ms_cell_even(s->bytes_per_s / 1e9, 2, NULL));
    }
}

static void add_products(ms_tree *tree, const ms_links *links)
{
    static const ms_tree_column columns[] = {
        {"", .before = 2, .width = 6, .wide_head = "type"},
        {"", .before = 1, .width = 24, .is_figure = true, .wide_head = "rows x inner x columns"},
        {"", .before = 1, .width = 12, .is_figure = true, .wide_head = "TFLOP/s"}};
    ms_tree_section(tree, MS_ON_ALL, "products", "Products", "TFLOP/s, the best of several");
    ms_tree_table *table = ms_tree_begin_table(tree, MS_ON_ALL, "The best of several", columns,
                                               sizeof columns / sizeof columns[0]);
    if (table)
        table->is_fixed = table->has_no_head = true;
    for (uint32_t i = 0; i < links->products.count; i++) {
        const ms_product_sample *p = &links->products.items[i];
        ms_tree_cell(tree, table, ms_cell_text(ms_dtype_info_of(p->dtype)->short_name));
        ms_tree_cell(tree, table,
                     ms_cell_text(ms_tree_text(tree, "%6" PRIu64 " x %6" PRIu64 " x %6" PRIu64,
                                               p->rows, p->inner, p->columns)));
        ms_tree_cell(tree, table, ms_cell_even(p->flops_per_s / 1e12, 3, NULL));
    }
}

static ms_tree build(const ms_links_view *v)
{
    char opened[MS_GIB_TEXT], loaded[MS_GIB_TEXT], total[MS_GIB_TEXT];
    ms_tree tree = ms_tree_begin(NULL);
    const char *title = ms_tree_text(&tree, "%s: %s, %s GiB", v->facts->title, v->facts->versions,
                                     ms_gib(v->facts->total_bytes, total));
    ms_tree_head(&tree, "memscope", title,
                 v->status == MS_OK ? "Links, memory and products as measured" : "Measured in part",
                 v->status == MS_OK ? MS_VERDICT_FITS : MS_VERDICT_NO);
    tree.made_from = "as measured on this device";
    ms_tree_line(&tree, MS_ON_CONSOLE, title);
    if (v->facts->is_simulated) {
        tree.verdict = "this device runs nothing, so there are no figures to show";
        tree.tone = MS_VERDICT_TIGHT;
        ms_tree_paragraph(&tree, MS_ON_CONSOLE, tree.verdict);
        return tree;
    }
    if (v->status != MS_OK)
        ms_tree_note(&tree, MS_ON_ALL, "partial:", v->message ? v->message : "");
    add_copies(&tree, v->links, v->facts->is_host);
    add_products(&tree, v->links);
    if (!v->facts->is_host) {
        ms_tree_gap(&tree);
        ms_tree_say(&tree, MS_ON_ALL,
                    "in use on the device: %s GiB with its context, %s GiB once products ran",
                    ms_gib(v->links->opened_used_bytes, opened),
                    ms_gib(v->links->loaded_used_bytes, loaded));
    }
    return tree;
}

MS_TREE_WRITERS(ms_links, struct ms_links_view, build, v->style)

/* ---- JSON ---- */

#define FACT(...) MS_MEMBER(ms_backend_facts, __VA_ARGS__, .from = MS_FROM(ms_links_view, facts))
static const ms_member metadata_members[] = {
    MS_CONSTANT("mode", "links"),
    MS_MEMBER(ms_links_view, "backend", backend),
    FACT("simulated_device", is_simulated),
    MS_ANY(ms_links_view, "partial", status),
    MS_MEMBER(ms_links_view, "device", device, .rules = MS_OR_NULL),
    FACT("device_title", title),
    FACT("versions", versions),
    FACT("device_bytes", total_bytes),
};
static const ms_members metadata_table = MS_MEMBERS(ms_links_view, metadata_members);

static const ms_member document_members[] = {
    MS_PART("metadata", &metadata_table),
    MS_MEMBER(ms_links_view, NULL, links, .inner = &ms_links_table, .rules = MS_THROUGH),
};
const ms_members ms_links_document = MS_MEMBERS(ms_links_view, document_members);

bool ms_links_json(FILE *out, const ms_links_view *v)
{
    return ms_members_document(out, MS_LINKS_SCHEMA_VERSION, &ms_links_document, v);
}
