/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measured links, memory and products: console text, and JSON (schemas/device_links.schema.json).
 */
#include <inttypes.h>
#include <string.h>

#include "base/locale.h"
#include "base/json/write.h"
#include "memscope/probe.h"
#include "report/kit/list_table.h"
#include "report/kit/writer_list.h"
#include "report/runtime/links_view.h"
#include "base/text/number.h"
#include "base/text/size.h"

/* ---- console ---- */

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

static bool write_copies(const ms_page *page, const ms_links *links, bool is_host)
{
    static const ms_list_column columns[] = {
        {"", 2, 24, 0, false}, {"", 1, 10, 0, false}, {"", 1, 10, 0, true}, {"", 1, 10, 0, true}};
    char text[32];
    ms_list_table list = ms_list_begin(columns, sizeof columns / sizeof columns[0]);
    ms_page_heading(page, "Copies", "  (GB/s, the best of several)");
    for (uint32_t i = 0; i < links->copies.count; i++) {
        const ms_link_sample *s = &links->copies.items[i];
        ms_list_put(&list, title_of(s));
        ms_list_put(&list, is_host || strcmp(s->kind, "memory") == 0 ? ""
                           : s->is_pinned                            ? "pinned"
                                                                     : "not pinned");
        ms_list_put(&list, ms_size_format(s->bytes, text, sizeof text));
        ms_text_print(text, sizeof text, "%.2f", s->bytes_per_s / 1e9);
        ms_list_put(&list, text);
    }
    return ms_list_end(&list, page, page->columns);
}

static void write_products(const ms_page *page, const ms_links *links)
{
    ms_page_heading(page, "Products", "  (TFLOP/s, the best of several)");
    for (uint32_t i = 0; i < links->products.count; i++) {
        const ms_product_sample *p = &links->products.items[i];
        ms_file_print(page->out, "  %-6s %6" PRIu64 " x %6" PRIu64 " x %6" PRIu64 " %12.3f\n",
                      ms_dtype_info_of(p->dtype)->short_name, p->rows, p->inner, p->columns,
                      p->flops_per_s / 1e12);
    }
}

bool ms_links_console(FILE *out, const ms_links_view *v)
{
    const ms_page page = ms_page_begin(out, v->style);
    char opened[MS_GIB_TEXT], loaded[MS_GIB_TEXT], total[MS_GIB_TEXT];
    char text[1024];
    snprintf(text, sizeof text, "%s: %s, %s GiB", v->facts->title, v->facts->versions,
             ms_gib(v->facts->total_bytes, total));
    ms_page_line(&page, text);
    if (v->facts->is_simulated) {
        ms_page_say(&page, "nothing runs on this device: there are no figures to show");
        return true;
    }
    if (v->status != MS_OK) {
        ms_page_note(&page, "partial:", v->message ? v->message : "");
    }
    if (!write_copies(&page, v->links, v->facts->is_host))
        return false;
    write_products(&page, v->links);
    if (!v->facts->is_host) {
        fputc('\n', out);
        ms_page_say(&page,
                    "in use on the device: %s GiB with its context, %s GiB once products ran",
                    ms_gib(v->links->opened_used_bytes, opened),
                    ms_gib(v->links->loaded_used_bytes, loaded));
    }
    return true;
}

/* ---- JSON ---- */

static void write_json_copy(ms_json_writer *w, const ms_link_sample *s)
{
    ms_json_object_inline(w, NULL);
    ms_json_string(w, "kind", s->kind);
    ms_json_bool(w, "pinned", s->is_pinned);
    ms_json_uint(w, "bytes", s->bytes);
    ms_json_double(w, "bytes_per_s", s->bytes_per_s, 0);
    ms_json_close(w);
}

static void write_json_product(ms_json_writer *w, const ms_product_sample *p)
{
    ms_json_object_inline(w, NULL);
    ms_json_string(w, "dtype", ms_dtype_info_of(p->dtype)->name);
    ms_json_uint(w, "rows", p->rows);
    ms_json_uint(w, "inner", p->inner);
    ms_json_uint(w, "columns", p->columns);
    ms_json_double(w, "ms", p->ms, 6);
    ms_json_double(w, "flops_per_s", p->flops_per_s, 0);
    ms_json_close(w);
}

static void write_json_metadata(ms_json_writer *w, const ms_links_view *v)
{
    ms_json_object(w, "metadata");
    ms_json_string(w, "mode", "links");
    ms_json_string(w, "backend", v->backend);
    ms_json_bool(w, "simulated_device", v->facts->is_simulated);
    ms_json_bool(w, "partial", v->status != MS_OK);
    ms_json_string(w, "device", v->device);
    ms_json_string(w, "device_title", v->facts->title);
    ms_json_string(w, "versions", v->facts->versions);
    ms_json_uint(w, "device_bytes", v->facts->total_bytes);
    ms_json_close(w);
}

bool ms_links_json(FILE *out, const ms_links_view *v)
{
    ms_json_writer w = {.out = out};
    ms_json_object(&w, NULL);
    ms_json_string(&w, "schema_version", MS_LINKS_SCHEMA_VERSION);
    write_json_metadata(&w, v);
    ms_json_array(&w, "copies");
    for (uint32_t i = 0; i < v->links->copies.count; i++)
        write_json_copy(&w, &v->links->copies.items[i]);
    ms_json_close(&w);
    ms_json_array(&w, "products");
    for (uint32_t i = 0; i < v->links->products.count; i++)
        write_json_product(&w, &v->links->products.items[i]);
    ms_json_close(&w);
    ms_json_object(&w, "in_use");
    ms_json_uint(&w, "opened_bytes", v->links->opened_used_bytes);
    ms_json_uint(&w, "loaded_bytes", v->links->loaded_used_bytes);
    ms_json_close(&w);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}
