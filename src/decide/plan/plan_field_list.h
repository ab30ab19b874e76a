/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The options of a plan, one row each (see input/config/fields/field.h). The scope is what they
 * apply to, the need what other options they require.
 */
#ifndef MS_DECIDE_PLAN_PLAN_FIELD_LIST_H
#define MS_DECIDE_PLAN_PLAN_FIELD_LIST_H

/* clang-format off */
#define MS_PLAN_FIELD_LIST(X) \
    X("budget", "SIZE", \
      "memory of the run, or of the backward pass of --graph", "all of the device", \
      "Plan", size, AT(budget_bytes), .minimum = 1, .default_is_words = true, \
      .need = ONE_BUDGET) \
    X("gap", "X", "relative distance from the bound at which to stop", "0.001", \
      "Plan", number, AT(gap), .maximum = 1, .need = A_BOUND) \
    X("time-limit", "SECONDS", "stop after this time with the best plan found", \
      "10 with --graph, else none", "Plan", number, AT(time_limit_s), .maximum = 1e6, \
      .default_is_words = true, .need = A_SEARCH) \
    X("planner", "NAME", "milp, greedy, rules, uniform or none", "milp", \
      "Plan for a run", choice, AT(planner), .choices = ms_planner_names, .scope = RUN, \
      .need = FREE_CHOICE) \
    X("target", "NAME", "plan only what this trainer can express, or all trainers", "free", \
      "Plan for a run", name, AT(target), .choice_at = target_at, .scope = RUN) \
    X("curve", NULL, "time against budget, from the smallest budget found", NULL, \
      "Plan for a run", flag, AT(curve), .scope = RUN, .need = BEST_PLANS) \
    X("points", "N", "number of budgets on the curve", "24", \
      "Plan for a run", count, AT(points), .minimum = 2, .maximum = 200, .scope = RUN, \
      .need = A_CURVE) \
    X("without", "LIST", \
      "treatments not to use: checkpoint, selective, offload, tile, chunk", "none", \
      "Plan for a run", bits, AT(without), .choices = techniques, .scope = RUN) \
    X("allow", "LIST", \
      "if nothing else fits: host-optimizer, host-parameters; and retries", "none", \
      "Plan for a run", bits, AT(allowed), .choices = allowances, .scope = RUN, \
      .need = ALLOWANCES) \
    X("gpu-cost-per-hour", "X", "price of an hour, in any currency", "2.50", \
      "Plan for a run", number, AT(gpu_cost_per_hour), .maximum = 1e6, .scope = RUN, \
      .need = ONE_PLAN) \
    X("rules-mode", "NAME", "for --planner rules: conservative, balanced, aggressive", "balanced", \
      "Plan for a run", choice, AT(rules_mode), .choices = rules_modes, .scope = RUN, \
      .need = THE_RULES) \
    X("max-cpu-offload", "SIZE", "for --planner rules: host memory it may use", "half of it", \
      "Plan for a run", size, AT(max_host_bytes), .default_is_words = true, .scope = RUN, \
      .need = RULES_THAT_OFFLOAD) \
    X("graph", "FILE", "plan checkpoints for the modules in this ModuleInfo file", NULL, \
      "Plan for modules", text, AT(graph), .scope = MODULES) \
    X("world-size", "N", "ranks that share parameters and gradients", "1", \
      "Plan for modules", count, AT(world_size), .minimum = 1, .maximum = 1e6, \
      .scope = MODULES) \
    X("ac-units", "A,B,...", "only these modules may be checkpointed", "any", \
      "Plan for modules", text, AT(ac_units), .default_is_words = true, .scope = MODULES, \
      .need = CHECKPOINTS) \
    X("fsdp-units", "A,B,...", "modules that are gathered as one", \
      "none", "Plan for modules", text, AT(fsdp_units), .default_is_words = true, .need = UNITS) \
    X("fsdp", NULL, "choose FSDP units instead of checkpoints", NULL, \
      "Plan for modules", flag, AT(fsdp), .scope = MODULES) \
    X("latency", "MS", "latency of an all-gather or reduce-scatter, for --fsdp", "0.01", \
      "Plan for modules", number, AT(latency_ms), .maximum = 1e6, .scope = MODULES, \
      .need = SHARDS) \
    X("bandwidth", "SIZE", "bytes gathered or scattered per second, for --fsdp", "100GB", \
      "Plan for modules", size, AT(bandwidth_bytes), .minimum = 1, .scope = MODULES, \
      .need = SHARDS) \
    X("ops", "FILE", "plan which operators of this SACStats file to save", NULL, \
      "Plan for operators", text, AT(ops), .scope = OPERATORS) \
    X("memory-budget", "FRACTION", "fraction of all operators' memory, from 0 to 1", NULL, \
      "Plan for operators", number, AT(memory_budget), .maximum = 1, .scope = OPERATORS)
/* clang-format on */

#endif
