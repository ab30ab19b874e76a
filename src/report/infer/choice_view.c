/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/infer/choice_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/text/number.h"

const char *ms_infer_choice_short(ms_arena *arena, const char *arguments)
{
    const char *rules = strstr(arguments, " -ot \"");
    return rules ? ms_arena_printf(arena, "%.*s -ot ...", (int)(rules - arguments), arguments)
                 : arguments;
}

/* "it expects to use 6.43 of 7.45 GiB free and aims to leave 1.00", of the device with the least
 * room to spare. */
static const char *room_of(const ms_infer_view *v)
{
    const ms_infer_choice *c = &v->answer->choice;
    char needed[MS_GIB_TEXT], there[MS_GIB_TEXT], margin[MS_GIB_TEXT], place[32] = "";
    uint32_t least = 0;
    for (uint32_t i = 1; i < c->devices; i++)
        if ((int64_t)(c->places[i].free - c->places[i].needed) <
            (int64_t)(c->places[least].free - c->places[least].needed))
            least = i;
    const ms_infer_choice_place *p = &c->places[least];
    if (c->devices > 1)
        snprintf(place, sizeof place, " GiB free on device %" PRIu32, least);
    return ms_arena_printf(v->arena, "it expects to use %s of %s%s and aims to leave %s",
                           ms_gib(p->needed, needed), ms_gib(p->free, there),
                           c->devices == 0 ? " GiB free on the host"
                           : *place        ? place
                                           : " GiB free",
                           ms_gib(p->margin, margin));
}

const char *ms_infer_choice_text(const ms_infer_view *v)
{
    const ms_infer_choice *c = &v->answer->choice;
    if (!c->program)
        return "";
    const char *arguments = ms_infer_choice_short(v->arena, c->arguments), *room = room_of(v);
    if (!arguments || !room)
        return NULL;
    if (c->failure)
        return ms_arena_printf(v->arena, "%s's own --fit gives up (%s) and starts with %s: %s",
                               c->program, c->failure, *arguments ? arguments : "what was given",
                               room);
    return ms_arena_printf(v->arena, "%s's own --fit %s %s%s%s%s: %s", c->program,
                           c->is_changed ? "sets"
                           : *arguments  ? "keeps"
                                         : "changes",
                           *arguments ? arguments : "nothing", c->layers ? " (" : "",
                           c->layers ? c->layers : "", c->layers ? ")" : "", room);
}

const char *ms_infer_choice_range(const ms_infer_view *v)
{
    const ms_infer_choice *c = &v->answer->choice;
    const char *less = c->if_less ? ms_infer_choice_short(v->arena, c->if_less) : "";
    const char *more = c->if_more ? ms_infer_choice_short(v->arena, c->if_more) : "";
    if (!less || !more)
        return NULL;
    if (!*less && !*more)
        return "";
    return ms_arena_printf(
        v->arena,
        "the CUDA context is an estimate: with the largest context --fit sets %s, with the "
        "smallest %s; to be exact, give the free memory with --free-memory",
        *less ? less : "the same", *more ? more : "the same");
}

static void write_places(ms_json_writer *w, const char *name, const void *choice)
{
    const ms_infer_choice *c = choice;
    ms_json_array(w, name);
    for (uint32_t i = 0; i < (c->devices ? c->devices : 1); i++) {
        ms_json_object_inline(w, NULL);
        if (c->devices)
            ms_json_uint(w, "device", i);
        else
            ms_json_null(w, "device");
        ms_json_uint(w, "free_bytes", c->places[i].free);
        ms_json_uint(w, "margin_bytes", c->places[i].margin);
        ms_json_uint(w, "estimated_bytes", c->places[i].needed);
        ms_json_close(w);
    }
    ms_json_close(w);
}

#define CHOICE(...) MS_MEMBER(ms_infer_choice, __VA_ARGS__)
static const ms_member choice_members[] = {
    CHOICE("program", program),
    CHOICE("arguments", arguments),
    CHOICE("changed", is_changed),
    CHOICE("failure", failure, .rules = MS_OR_NULL),
    CHOICE("arguments_if_less_free", if_less, .rules = MS_OR_NULL),
    CHOICE("arguments_if_more_free", if_more, .rules = MS_OR_NULL),
    CHOICE("trials", trials),
    MS_WRITTEN("places", write_places),
};
const ms_members ms_infer_choice_table = MS_MEMBERS(ms_infer_choice, choice_members);
