/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A comparison as JSON; schemas/compare.schema.json defines it.
 */
#include "base/json/members.h"
#include "decide/compare/compare_verdict.h"
#include "report/kit/documents.h"
#include "report/kit/writer_list.h"

#define ROW(...) MS_MEMBER(ms_compare_row, __VA_ARGS__)
static const ms_member row_members[] = {
    ROW("name", name),
    ROW("micro_step", micro_step),
    ROW("first_bytes", first_bytes, .rules = MS_OR_NULL,
        .when = MS_PLACE(ms_compare_row, has_first)),
    ROW("second_bytes", second_bytes, .rules = MS_OR_NULL,
        .when = MS_PLACE(ms_compare_row, has_second)),
    ROW("residual_bytes", residual, .rules = MS_OR_NULL,
        .when = MS_PLACE(ms_compare_row, is_known)),
    ROW("share_of_peak", of_peak, .rules = MS_OR_NULL | MS_NONE_IS_NAN, .decimals = 6),
    ROW("share_of_residual", of_residual, .rules = MS_OR_NULL | MS_NONE_IS_NAN, .decimals = 6),
};
static const ms_members rows = MS_MEMBERS(ms_compare_row, row_members, .is_inline = true);

#define CAUSE(...) MS_MEMBER(ms_compare_cause, __VA_ARGS__)
static const ms_member cause_members[] = {
    CAUSE("name", name),
    CAUSE("first", first),
    CAUSE("second", second),
};
static const ms_members causes = MS_MEMBERS(ms_compare_cause, cause_members, .is_inline = true);

#define VIEW(...) MS_MEMBER(ms_compare_view, __VA_ARGS__)
static const ms_member verdict_members[] = {
    VIEW("text", verdict),
    VIEW("why", why),
    VIEW("equal", is_equal),
    VIEW("near", is_near),
    VIEW("residual_bytes", residual),
    VIEW("category", cause, .rules = MS_OR_NULL | MS_THROUGH, .inner = &rows),
    VIEW("module", module, .rules = MS_OR_NULL | MS_THROUGH, .inner = &rows),
    MS_ROWS(ms_compare_view, "causes", causes, cause_count, &causes, .rules = MS_INSIDE),
    VIEW("explained", is_explained),
    MS_ROWS(ms_compare_view, "notes", notes, note_count, &ms_plain_texts, .rules = MS_INSIDE),
};
static const ms_members verdict = MS_MEMBERS(ms_compare_view, verdict_members);

typedef struct source {
    const char *mode, *device, *torch;
} source;

static const ms_member source_members[] = {
    MS_MEMBER(source, "mode", mode),
    MS_MEMBER(source, "device", device, .rules = MS_OR_NULL),
    MS_MEMBER(source, "torch", torch, .rules = MS_OR_NULL),
};
static const ms_members sources = MS_MEMBERS(source, source_members);

static void make_source(const void *recorded, void *made)
{
    const ms_recorded *r = recorded;
    *(source *)made = (source){ms_compare_mode(r), r->device, r->torch};
}

#define PARTING(...) MS_MEMBER(ms_compare_parting, __VA_ARGS__)
static const ms_member parted_members[] = {
    PARTING("event", event),
    PARTING("phase", phase),
    PARTING("first_bytes", first_bytes),
    PARTING("second_bytes", second_bytes),
};
static const ms_members parted = MS_MEMBERS(ms_compare_parting, parted_members, .is_inline = true);

static const ms_member parting_members[] = {
    PARTING("first_events", first_events),
    PARTING("second_events", second_events),
    PARTING("residual_at_start_bytes", from_start),
    PARTING("last_same_event", same_event),
    MS_PART("parted", &parted, .rules = MS_OR_NULL,
            .when = MS_PLACE(ms_compare_parting, has_parted)),
};
static const ms_members parting = MS_MEMBERS(ms_compare_parting, parting_members);

#define TABLE(key, table)                                                                          \
    MS_ROWS(ms_compare_view, key, tables[table].items, tables[table].count, &rows)
static const ms_member document_members[] = {
    MS_PART("verdict", &verdict),
    VIEW("first", first, .rules = MS_THROUGH, .make = make_source, .inner = &sources),
    VIEW("second", second, .rules = MS_THROUGH, .make = make_source, .inner = &sources),
    TABLE("totals", MS_COMPARE_TOTALS),
    TABLE("phases", MS_COMPARE_PHASES),
    TABLE("categories", MS_COMPARE_CATEGORIES),
    TABLE("modules", MS_COMPARE_MODULES),
    VIEW("timelines", parting, .rules = MS_OR_NULL,
         .when = MS_PLACE(ms_compare_view, parting.is_known), .inner = &parting),
};
const ms_members ms_compare_document = MS_MEMBERS(ms_compare_view, document_members);

bool ms_compare_json(FILE *out, const ms_compare_view *v)
{
    return ms_members_document(out, MS_COMPARE_SCHEMA_VERSION, &ms_compare_document, v);
}
