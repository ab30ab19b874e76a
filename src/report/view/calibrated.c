/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/view/calibrated.h"

#include <string.h>

static bool note_at(const ms_run_config *run, ms_arena *arena, size_t index,
                    ms_calibration_note *note)
{
    return run->calibration && ms_calibration_note_at(arena, run->calibration, index, note);
}

void ms_calibrated_notes_tree(ms_tree *tree, const ms_run_config *run)
{
    ms_calibration_note note;
    for (size_t i = 0; note_at(run, tree->arena, i, &note); i++)
        ms_tree_note(tree, MS_ON_PAGE, "", note.text);
}

void ms_calibrated_tree(ms_tree *tree, const ms_run_config *run)
{
    ms_calibration_note note;
    for (size_t i = 0; note_at(run, tree->arena, i, &note); i++) {
        if (i == 0)
            ms_tree_section(tree, MS_OFF_PAGE, NULL, "Calibrated", "");
        ms_tree_point(tree, MS_OFF_PAGE, note.text);
    }
}

static void write_figures(ms_json_writer *w, const char *figures)
{
    ms_json_array_inline(w, "figures");
    while (*figures) {
        char name[48];
        size_t length = strcspn(figures, " ");
        snprintf(name, sizeof name, "%.*s", (int)length, figures);
        ms_json_string(w, NULL, name);
        figures += length + (figures[length] == ' ');
    }
    ms_json_close(w);
}

void ms_calibrated_json(ms_json_writer *w, const ms_run_config *run, ms_arena *arena)
{
    ms_calibration_note note;
    if (!run->calibration)
        return;
    ms_json_object(w, "calibration");
    ms_json_uint(w, "points", run->calibration->points);
    ms_json_array(w, "touched");
    for (size_t i = 0; note_at(run, arena, i, &note); i++) {
        ms_json_object(w, NULL);
        ms_json_string(w, "text", note.text);
        write_figures(w, note.figures);
        ms_json_close(w);
    }
    ms_json_close(w);
    ms_json_close(w);
}
