# SPDX-License-Identifier: GPL-3.0-or-later
"""Structs, constants and prototypes of the public headers. Made by scripts/python_tables.py."""
from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_bool,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

VERSION = "0.1.0"
SONAME = "libmemscope.so.0"

# number: name, exit status
STATUSES = {
    0: ("MS_OK", 0),
    1: ("MS_ERR_NOMEM", 70),
    2: ("MS_ERR_IO", 2),
    3: ("MS_ERR_SYNTAX", 2),
    4: ("MS_ERR_CONFIG", 2),
    5: ("MS_ERR_OVERFLOW", 2),
    6: ("MS_ERR_INFEASIBLE", 3),
    7: ("MS_ERR_SOLVER", 70),
    8: ("MS_ERR_LIMIT", 2),
    9: ("MS_ERR_USAGE", 2),
    10: ("MS_ERR_OVER_BUDGET", 1),
    11: ("MS_ERR_INTERNAL", 70),
    12: ("MS_ERR_STOPPED", 130),
}


class ms_error(Structure):
    _fields_ = [
        ("status", c_int),
        ("line", c_uint32),
        ("column", c_uint32),
        ("file", c_char * 256),
        ("pointer", c_char * 128),
        ("text", c_char * 512),
        ("excerpt", c_char * 160),
        ("caret", c_uint32),
        ("caret_length", c_uint32),
        ("more", c_char * 1024),
    ]


class ms_run_field(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("value_name", c_char_p),
        ("help", c_char_p),
        ("default_text", c_char_p),
        ("group", c_char_p),
    ]


class ms_run_word(Structure):
    _fields_ = [
        ("word", c_char_p),
        ("field", c_char_p),
        ("value", c_char_p),
        ("prefix", c_char_p),
        ("why", c_char_p),
        ("also", c_char_p),
    ]


class ms_check_options(Structure):
    _fields_ = [
        ("threads", c_uint32),
        ("warn_only", c_bool),
        ("no_plans", c_bool),
        ("for_baselines", c_bool),
        ("calibration", c_char_p),
        ("inputs", c_void_p),
        ("watch", c_void_p),
    ]


class ms_baseline(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("path", c_char_p),
        ("is_current", c_bool),
        ("is_there", c_bool),
        ("error", POINTER(ms_error)),
        ("refusal", POINTER(ms_error)),
    ]


class ms_summary(Structure):
    _fields_ = [
        ("param_count", c_uint64),
        ("trainable_param_count", c_uint64),
        ("active_param_count", c_uint64),
        ("weight_memory_bytes", c_uint64),
        ("buffer_memory_bytes", c_uint64),
        ("grad_memory_bytes", c_uint64),
        ("optimizer_memory_bytes", c_uint64),
        ("activation_memory_bytes", c_uint64),
        ("temporary_memory_bytes", c_uint64),
        ("persistent_memory_bytes", c_uint64),
        ("saved_bytes", c_uint64),
        ("after_build_bytes", c_uint64),
        ("start_bytes", c_uint64),
        ("peak_memory_bytes", c_uint64),
        ("balanced_peak_bytes", c_uint64),
        ("skewed_peak_bytes", c_uint64),
        ("reserved_memory_bytes", c_uint64),
        ("allocator_retries", c_uint64),
        ("low_device_bytes", c_uint64),
        ("expected_device_bytes", c_uint64),
        ("high_device_bytes", c_uint64),
        ("evaluation_peak_bytes", c_uint64),
        ("evaluation_reserved_bytes", c_uint64),
        ("first_step_reserved_bytes", c_uint64),
        ("slow_device_reserved_bytes", c_uint64),
        ("peak_stage", c_char_p),
        ("job_peak_memory_bytes", c_uint64),
        ("job_reserved_memory_bytes", c_uint64),
        ("job_peak_stage", c_char_p),
        ("budget_bytes", c_uint64),
        ("fits", c_bool),
        ("verdict", c_int),
        ("verdict_reason", c_int),
        ("headroom_bytes", c_int64),
        ("step_time_ms", c_double),
        ("exposed_copy_ms", c_double),
        ("host_memory_bytes", c_uint64),
        ("host_weight_memory_bytes", c_uint64),
        ("tokens", c_uint64),
        ("tokens_per_s", c_double),
        ("tokens_per_s_per_gpu", c_double),
    ]


class ms_style(Structure):
    _fields_ = [
        ("columns", c_uint32),
        ("color", c_bool),
        ("unicode", c_bool),
        ("chart", c_bool),
    ]


class ms_report_format(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("help", c_char_p),
        ("file_name", c_char_p),
    ]


class ms_probe_options(Structure):
    _fields_ = [
        ("backend", c_char_p),
        ("device_index", c_uint32),
        ("capacity", c_char_p),
        ("memory_only", c_bool),
        ("offload_ratio", c_char_p),
        ("offload_tags", POINTER(c_char_p)),
        ("offload_tag_count", c_size_t),
        ("trace", c_char_p),
    ]


class ms_rank(Structure):
    _fields_ = [
        ("rank", c_uint64),
        ("peak_bytes", c_uint64),
        ("reserved_bytes", c_uint64),
        ("has_figures", c_bool),
        ("outcome", c_char * 24),
        ("peak_stage", c_char * 24),
    ]


class ms_device_facts(Structure):
    _fields_ = [
        ("name", c_char * 64),
        ("title", c_char * 128),
        ("compute_capability", c_uint32),
        ("multiprocessors", c_uint32),
        ("total_bytes", c_uint64),
        ("bf16_flops", c_double),
        ("memory_bytes_per_s", c_double),
        ("l2_bytes", c_uint64),
        ("driver_bytes", c_uint64),
        ("fp32_flops", c_double),
        ("host_link_bytes_per_s", c_double),
    ]


class ms_streaming_options(Structure):
    _fields_ = [
        ("prefetch", c_char_p),
        ("phase", c_char_p),
    ]


class ms_streaming_run_options(Structure):
    _fields_ = [
        ("backend", c_char_p),
        ("device_index", c_uint32),
        ("capacity", c_char_p),
        ("weights", c_char_p),
    ]


class ms_sweep_progress(Structure):
    _fields_ = [
        ("points", c_uint64),
        ("rows", c_uint64),
        ("done", c_uint64),
        ("errors", c_uint64),
    ]


ms_sweep_take = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, POINTER(ms_error))

# name: result, arguments
PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "ms_status_text": (c_char_p, (c_int,)),
    "ms_status_exit_code": (c_int, (c_int,)),
    "ms_printable": (c_size_t, (c_char_p, c_char_p, c_size_t)),
    "ms_calibrator_create": (c_void_p, ()),
    "ms_calibrator_free": (None, (c_void_p,)),
    "ms_calibrator_add_pair": (c_int, (c_void_p, c_char_p, c_char_p, POINTER(ms_error))),
    "ms_calibrator_add_table": (c_int, (c_void_p, c_char_p, POINTER(ms_error))),
    "ms_calibrator_add_links": (c_int, (c_void_p, c_char_p, POINTER(ms_error))),
    "ms_calibrator_is_links": (c_int, (c_char_p, POINTER(c_bool), POINTER(ms_error))),
    "ms_calibrator_note": (c_char_p, (c_void_p, c_size_t)),
    "ms_calibrator_fit": (c_int, (c_void_p, POINTER(ms_error))),
    "ms_calibrator_write": (c_int, (c_void_p, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_calibrator_format_at": (c_char_p, (c_size_t,)),
    "ms_calibrator_set_style": (None, (c_void_p, POINTER(ms_style))),
    "ms_check_run": (c_void_p, (c_char_p, POINTER(ms_check_options), POINTER(ms_error))),
    "ms_check_free": (None, (c_void_p,)),
    "ms_check_exit_code": (c_int, (c_void_p,)),
    "ms_check_set_style": (None, (c_void_p, POINTER(ms_style))),
    "ms_check_set_root": (None, (c_void_p, c_char_p, c_char_p)),
    "ms_check_write": (c_int, (c_void_p, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_check_format_at": (POINTER(ms_report_format), (c_size_t,)),
    "ms_check_baseline": (c_bool, (c_void_p, c_size_t, POINTER(ms_baseline))),
    "ms_check_write_baseline": (c_int, (c_void_p, c_size_t, c_void_p, POINTER(ms_error))),
    "ms_devices_are_listed": (c_bool, (c_char_p,)),
    "ms_devices_analyze": (c_void_p, (c_void_p, c_char_p, POINTER(ms_error))),
    "ms_devices_fit": (c_void_p, (c_void_p, c_char_p, c_char_p, c_uint64, POINTER(ms_error))),
    "ms_devices_plan": (c_void_p, (c_void_p, c_char_p, POINTER(ms_error))),
    "ms_devices_free": (None, (c_void_p,)),
    "ms_devices_fit_count": (c_uint64, (c_void_p,)),
    "ms_devices_verdict": (c_int, (c_void_p,)),
    "ms_devices_note": (c_char_p, (c_void_p, c_size_t)),
    "ms_devices_set_style": (None, (c_void_p, POINTER(ms_style))),
    "ms_devices_write": (c_int, (c_void_p, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_devices_format_at": (c_char_p, (c_size_t,)),
    "ms_comparison_make": (c_void_p, (c_char_p, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_comparison_make_with": (c_void_p, (c_char_p, c_char_p, c_void_p, c_void_p, c_char_p, POINTER(ms_error))),
    "ms_comparison_free": (None, (c_void_p,)),
    "ms_comparison_is_same": (c_bool, (c_void_p,)),
    "ms_comparison_set_style": (None, (c_void_p, POINTER(ms_style))),
    "ms_comparison_write": (c_int, (c_void_p, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_comparison_format_at": (POINTER(ms_report_format), (c_size_t,)),
    "ms_fit_find": (c_void_p, (c_void_p, c_char_p, c_uint64, POINTER(ms_error))),
    "ms_fit_free": (None, (c_void_p,)),
    "ms_fit_value": (c_uint64, (c_void_p,)),
    "ms_fit_safe_value": (c_uint64, (c_void_p,)),
    "ms_fit_verdict_of": (c_int, (c_void_p,)),
    "ms_fit_note": (c_char_p, (c_void_p, c_size_t)),
    "ms_fit_set_style": (None, (c_void_p, POINTER(ms_style))),
    "ms_fit_write": (c_int, (c_void_p, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_fit_format_at": (c_char_p, (c_size_t,)),
    "ms_fit_what_name": (c_char_p, (c_size_t,)),
    "ms_inference_create": (c_void_p, ()),
    "ms_inference_free": (None, (c_void_p,)),
    "ms_inference_fields": (POINTER(ms_run_field), (POINTER(c_size_t),)),
    "ms_inference_field_choice": (c_char_p, (c_char_p, c_size_t)),
    "ms_inference_set": (c_int, (c_void_p, c_char_p, c_char_p, POINTER(ms_error))),
    "ms_inference_set_inputs": (None, (c_void_p, c_void_p)),
    "ms_inference_predict": (c_int, (c_void_p, c_char_p, POINTER(ms_error))),
    "ms_inference_fits": (c_bool, (c_void_p,)),
    "ms_inference_note": (c_char_p, (c_void_p, c_size_t)),
    "ms_inference_set_style": (None, (c_void_p, POINTER(ms_style))),
    "ms_inference_write": (c_int, (c_void_p, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_inference_format_at": (c_char_p, (c_size_t,)),
    "ms_inference_engine_at": (c_char_p, (c_size_t,)),
    "ms_inputs_create": (c_void_p, ()),
    "ms_inputs_free": (None, (c_void_p,)),
    "ms_inputs_add": (c_int, (c_void_p, c_char_p, POINTER(ms_error))),
    "ms_inputs_find": (c_char_p, (c_void_p, c_char_p)),
    "ms_inputs_set_root": (c_int, (c_void_p, c_char_p, POINTER(ms_error))),
    "ms_is_same_file": (c_bool, (c_char_p, c_char_p)),
    "ms_run_create": (c_void_p, ()),
    "ms_run_free": (None, (c_void_p,)),
    "ms_run_set": (c_int, (c_void_p, c_char_p, c_char_p, POINTER(ms_error))),
    "ms_run_set_inputs": (None, (c_void_p, c_void_p)),
    "ms_run_set_watch": (None, (c_void_p, c_void_p)),
    "ms_run_fields": (POINTER(ms_run_field), (POINTER(c_size_t),)),
    "ms_run_field_choices": (POINTER(c_char_p), (c_char_p,)),
    "ms_run_field_example": (c_char_p, (c_char_p, c_size_t)),
    "ms_run_field_missing": (c_char_p, (c_char_p,)),
    "ms_run_word_at": (POINTER(ms_run_word), (c_size_t,)),
    "ms_analyze": (c_void_p, (c_void_p, POINTER(ms_error))),
    "ms_analysis_free": (None, (c_void_p,)),
    "ms_analysis_summary": (POINTER(ms_summary), (c_void_p,)),
    "ms_analysis_device": (c_char_p, (c_void_p,)),
    "ms_analysis_world": (c_uint64, (c_void_p, POINTER(c_uint64))),
    "ms_analysis_note": (c_char_p, (c_void_p, c_size_t)),
    "ms_analysis_unroll": (c_int, (c_void_p, POINTER(ms_error))),
    "ms_analysis_skip_advice": (None, (c_void_p,)),
    "ms_analysis_set_style": (None, (c_void_p, POINTER(ms_style))),
    "ms_analysis_write": (c_int, (c_void_p, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_report_format_at": (POINTER(ms_report_format), (c_size_t,)),
    "ms_analysis_write_events": (c_int, (c_void_p, c_void_p, POINTER(ms_error))),
    "ms_write_models": (c_int, (c_char_p, c_uint32, c_void_p, POINTER(ms_error))),
    "ms_model_name_at": (c_char_p, (c_size_t,)),
    "ms_model_is_named": (c_bool, (c_char_p,)),
    "ms_model_suggest": (c_bool, (c_char_p, POINTER(ms_error))),
    "ms_write_devices": (c_int, (c_char_p, c_uint32, c_void_p, POINTER(ms_error))),
    "ms_write_schema": (c_int, (c_char_p, c_void_p, POINTER(ms_error))),
    "ms_schema_name": (c_char_p, (c_size_t,)),
    "ms_write_schema_page": (c_int, (c_char_p, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_write_version": (c_int, (c_void_p, POINTER(ms_error))),
    "ms_plan_create": (c_void_p, ()),
    "ms_plan_free": (None, (c_void_p,)),
    "ms_plan_fields": (POINTER(ms_run_field), (POINTER(c_size_t),)),
    "ms_plan_field_choice": (c_char_p, (c_char_p, c_size_t)),
    "ms_plan_set": (c_int, (c_void_p, c_char_p, c_char_p, POINTER(ms_error))),
    "ms_plan_set_run": (c_int, (c_void_p, c_char_p, c_char_p, POINTER(ms_error))),
    "ms_plan_set_inputs": (None, (c_void_p, c_void_p)),
    "ms_plan_set_watch": (None, (c_void_p, c_void_p)),
    "ms_plan_solve": (c_int, (c_void_p, POINTER(ms_error))),
    "ms_plan_stop": (None, (c_void_p,)),
    "ms_plan_note": (c_char_p, (c_void_p, c_size_t)),
    "ms_plan_verdict": (c_int, (c_void_p,)),
    "ms_plan_set_style": (None, (c_void_p, POINTER(ms_style))),
    "ms_plan_write": (c_int, (c_void_p, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_plan_format_at": (POINTER(ms_report_format), (c_size_t,)),
    "ms_probe_create": (c_void_p, ()),
    "ms_probe_free": (None, (c_void_p,)),
    "ms_probe_step": (c_int, (c_void_p, c_void_p, POINTER(ms_probe_options), POINTER(ms_error))),
    "ms_probe_links": (c_int, (c_void_p, c_void_p, POINTER(ms_probe_options), POINTER(ms_error))),
    "ms_probe_offload": (c_int, (c_void_p, c_void_p, POINTER(ms_probe_options), POINTER(ms_error))),
    "ms_probe_stop": (None, (c_void_p,)),
    "ms_probe_has_figures": (c_bool, (c_void_p,)),
    "ms_probe_note": (c_char_p, (c_void_p, c_size_t)),
    "ms_probe_set_style": (None, (c_void_p, POINTER(ms_style))),
    "ms_probe_write": (c_int, (c_void_p, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_probe_format_at": (c_char_p, (c_size_t,)),
    "ms_probe_offload_format_at": (c_char_p, (c_size_t,)),
    "ms_probe_offload_tag_at": (c_char_p, (c_size_t,)),
    "ms_probe_backend_at": (c_char_p, (c_size_t,)),
    "ms_rank_read": (None, (c_void_p, POINTER(ms_rank))),
    "ms_ranks_worst": (c_size_t, (POINTER(ms_rank), c_size_t)),
    "ms_ranks_write": (c_int, (POINTER(ms_rank), c_size_t, c_uint64, c_char_p, POINTER(ms_style), c_void_p, POINTER(ms_error))),
    "ms_recorded_load": (c_void_p, (c_char_p, POINTER(ms_error))),
    "ms_recorded_free": (None, (c_void_p,)),
    "ms_recorded_outcome": (c_char_p, (c_void_p,)),
    "ms_recorded_message": (c_char_p, (c_void_p,)),
    "ms_recorded_hint": (c_char_p, (c_void_p,)),
    "ms_recorded_has_figures": (c_bool, (c_void_p,)),
    "ms_recorded_steps": (c_uint64, (c_void_p,)),
    "ms_recorded_set_style": (None, (c_void_p, POINTER(ms_style))),
    "ms_recorded_write": (c_int, (c_void_p, c_void_p, POINTER(ms_error))),
    "ms_compare_write": (c_int, (c_void_p, c_void_p, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_compare_format_at": (c_char_p, (c_size_t,)),
    "ms_device_find": (c_int, (c_char_p, POINTER(ms_device_facts), POINTER(ms_error))),
    "ms_device_at": (c_int, (c_size_t, POINTER(ms_device_facts), POINTER(ms_error))),
    "ms_streaming_create": (c_void_p, ()),
    "ms_streaming_free": (None, (c_void_p,)),
    "ms_streaming_simulate": (c_int, (c_void_p, c_void_p, POINTER(ms_streaming_options), POINTER(ms_error))),
    "ms_streaming_run": (c_int, (c_void_p, POINTER(ms_streaming_run_options), POINTER(ms_error))),
    "ms_streaming_stop": (None, (c_void_p,)),
    "ms_streaming_has_run": (c_bool, (c_void_p,)),
    "ms_streaming_fits": (c_bool, (c_void_p,)),
    "ms_streaming_note": (c_char_p, (c_void_p, c_size_t)),
    "ms_streaming_set_style": (None, (c_void_p, POINTER(ms_style))),
    "ms_streaming_write": (c_int, (c_void_p, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_streaming_format_at": (c_char_p, (c_size_t,)),
    "ms_streaming_phase_at": (c_char_p, (c_size_t,)),
    "ms_streaming_backend_at": (c_char_p, (c_size_t,)),
    "ms_sweep_create": (c_void_p, ()),
    "ms_sweep_free": (None, (c_void_p,)),
    "ms_sweep_fields": (POINTER(ms_run_field), (POINTER(c_size_t),)),
    "ms_sweep_field_choice": (c_char_p, (c_char_p, c_size_t)),
    "ms_sweep_set": (c_int, (c_void_p, c_char_p, c_char_p, POINTER(ms_error))),
    "ms_sweep_get": (c_char_p, (c_void_p, c_char_p)),
    "ms_sweep_set_run": (c_int, (c_void_p, c_char_p, c_char_p, POINTER(ms_error))),
    "ms_sweep_set_inputs": (None, (c_void_p, c_void_p)),
    "ms_sweep_open": (c_int, (c_void_p, POINTER(ms_error))),
    "ms_sweep_progress_of": (POINTER(ms_sweep_progress), (c_void_p,)),
    "ms_sweep_header": (c_char_p, (c_void_p,)),
    "ms_sweep_resume": (c_int, (c_void_p, c_void_p, c_char_p, POINTER(c_uint64), POINTER(ms_error))),
    "ms_sweep_run": (c_int, (c_void_p, ms_sweep_take, c_void_p, POINTER(ms_error))),
    "ms_sweep_stop": (None, (c_void_p,)),
    "ms_sweep_merge": (c_int, (POINTER(c_char_p), c_size_t, c_void_p, POINTER(ms_error))),
    "ms_sweep_frontier": (c_int, (c_void_p, c_char_p, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_sweep_write_table": (c_int, (c_void_p, c_char_p, POINTER(ms_style), c_void_p, POINTER(ms_error))),
    "ms_sweep_format_at": (c_char_p, (c_size_t,)),
    "ms_treat_write_code": (c_int, (c_char_p, c_uint32, c_char_p, c_void_p, POINTER(ms_error))),
    "ms_fit_verdict_name": (c_char_p, (c_int,)),
    "ms_fit_reason_name": (c_char_p, (c_int,)),
    "ms_fit_reason_text": (c_char_p, (c_int,)),
    "ms_fit_reason_advice": (c_char_p, (c_int,)),
    "ms_watch_create": (c_void_p, ()),
    "ms_watch_free": (None, (c_void_p,)),
    "ms_watch_done": (c_uint64, (c_void_p,)),
    "ms_watch_stop": (None, (c_void_p,)),
}
