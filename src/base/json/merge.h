/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Several documents as one: the object that has the members of all of them, where each value keeps
 * its own file, line, column and pointer.
 */
#ifndef MS_BASE_JSON_MERGE_H
#define MS_BASE_JSON_MERGE_H

#include "base/json/value.h"

enum {
    MS_JSON_MOST_LAYERS = 24,
    MS_JSON_MOST_MERGED = 4096 /* members of the objects that are joined, in all */
};

typedef struct ms_json_layer {
    ms_json_value object;
    const char *member; /* the object becomes the member of that name; NULL: its members join */
    const char *const *without; /* members that are left out, ended by NULL; NULL: none */
    bool is_deep;     /* its objects join those that lower layers have, member by member */
    bool nulls_count; /* a null hides what lower layers have; else it says nothing */
} ms_json_layer;

/* Called where a member of one layer hides another's, which is not null. */
typedef struct ms_json_hiding {
    ms_status (*tell)(void *context, ms_json_value winner, ms_json_value loser, ms_error *err);
    void *context;
} ms_json_hiding;

/* Joins layers, of which later ones win. The documents of the layers must outlive `merged`, which
 * the caller releases with ms_json_free. MS_ERR_LIMIT: more members than that. */
ms_status ms_json_merge(const ms_json_layer *layers, size_t count, const ms_json_hiding *hiding,
                        ms_json **merged, ms_error *err);

/* Whether the value is of a merged document. */
bool ms_json_is_merged(ms_json_value value);

#endif
