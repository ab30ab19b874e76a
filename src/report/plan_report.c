/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/plan_report.h"

#include "report/plan/plan_view.h"
#include "report/writers.h"

const ms_report_format *ms_plan_format_at(size_t index)
{
    return ms_writer_format_at(MS_DOCUMENT_PLAN, index);
}

bool ms_plan_format_is_detailed(const char *format)
{
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_PLAN, format, NULL);
    return writer && (writer->needs & MS_NEEDS_DETAIL);
}

static ms_status check_needs(const ms_writer *writer, const ms_plan_answer *answer, ms_error *err)
{
    char names[MS_WRITER_NAMES_TEXT];
    const ms_device *device = answer->task->run->device;
    if ((writer->needs & MS_NEEDS_CURVE) && !answer->curve)
        return ms_fail(err, MS_ERR_USAGE, "%s is a format of --curve; a plan can be %s",
                       writer->format.name,
                       ms_writer_names(MS_DOCUMENT_PLAN, MS_NEEDS_CURVE, "or", names));
    if ((writer->needs & MS_NEEDS_RATES) && device->has_assumed_rates)
        return ms_fail(err, MS_ERR_USAGE,
                       "%s draws times, but the rates of %s are not known; %s need no times",
                       writer->format.name, device->name,
                       ms_writer_names(MS_DOCUMENT_PLAN, MS_NEEDS_RATES, "and", names));
    return MS_OK;
}

ms_status ms_plan_report_write(const ms_plan_answer *answer, const char *format, FILE *out,
                               ms_error *err)
{
    ms_plan_view view;
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_PLAN, format, err);
    if (!writer)
        return MS_ERR_USAGE;
    ms_status status = check_needs(writer, answer, err);
    if (status == MS_OK)
        status = ms_plan_view_create(answer, &view, err);
    if (status != MS_OK)
        return status;
    status = ms_writer_write(writer, &view, view.arena, out, err);
    ms_plan_view_free(&view);
    return status;
}

ms_status ms_file_plan_report_write(const ms_file_plan *plan, const char *format, FILE *out,
                                    ms_error *err)
{
    if (plan->kind == MS_PLAN_NOTHING)
        return ms_fail(err, MS_ERR_USAGE, "there is no plan yet");
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_FILE_PLAN, format, err);
    return writer ? ms_writer_write(writer, plan, plan->arena, out, err) : MS_ERR_USAGE;
}
