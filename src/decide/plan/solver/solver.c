/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GLPK ends the process when it meets an error, unless a hook leaves by longjmp; then all its
 * objects are lost and only glp_free_env may follow. So everything between glp_init_env and
 * glp_free_env runs under one setjmp, and memscope's own data is outside it, in `session`.
 */
#include "decide/plan/solver/solver.h"

#include <float.h>
#include <glpk.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decide/plan/solver/problem.h"

typedef struct session {
    const ms_problem *problem;
    const ms_solver_options *options;
    ms_solution *solution;
    glp_prob *lp;
    int *indices; /* of one row, from 1 */
    double *coefficients;
    bool may_escape, has_failed; /* within the setjmp; by GLPK's own error */
    bool is_plain;               /* neither presolve nor cuts: the second try */
    bool is_relaxed;             /* without integers */
    char said[160];
    jmp_buf escape;
} session;

const char *ms_solver_version(void)
{
    return glp_version();
}

/* ---- hooks ---- */

static bool is_stopped(const session *s)
{
    return ms_stop_asked(s->options->stop);
}

/* Keeps the last line for a message and prints nothing. The simplex method calls nobody else, and
 * may take long. */
static int hear(void *info, const char *text)
{
    session *s = info;
    size_t length = strcspn(text, "\n");
    if (length > 0 && strncmp(text, "Error detected", 14) != 0)
        snprintf(s->said, sizeof s->said, "%.*s", (int)(length < 150 ? length : 150), text);
    if (is_stopped(s) && s->may_escape)
        longjmp(s->escape, 1);
    return 1;
}

static void leave(void *info)
{
    session *s = info;
    s->has_failed = true;
    longjmp(s->escape, 1);
}

/* The bound rises as the search goes on; it can be asked for only here. */
static void watch(glp_tree *tree, void *info)
{
    session *s = info;
    int node = glp_ios_best_node(tree);
    double bound = node != 0 ? glp_ios_node_bound(tree, node) : -INFINITY;
    if (bound > s->solution->bound && bound < DBL_MAX)
        s->solution->bound = bound;
    bool is_enough = s->options->enough > 0 && s->solution->bound >= s->options->enough;
    int nodes = 0;
    glp_ios_tree_size(tree, NULL, NULL, &nodes);
    bool is_long = s->options->nodes > 0 && nodes > (int)s->options->nodes;
    if (is_enough || is_long || is_stopped(s))
        glp_ios_terminate(tree);
}

/* ---- loading ---- */

static int bound_kind(ms_problem_bounds b)
{
    if (isinf(b.lower))
        return isinf(b.upper) ? GLP_FR : GLP_UP;
    if (isinf(b.upper))
        return GLP_LO;
    return b.lower < b.upper ? GLP_DB : GLP_FX;
}

static void load_columns(session *s)
{
    uint32_t count = s->problem->columns.count;
    if (count > 0)
        glp_add_cols(s->lp, (int)count);
    for (uint32_t i = 0; i < count; i++) {
        const struct ms_problem_column *column = &s->problem->columns.items[i];
        int j = (int)i + 1;
        glp_set_obj_coef(s->lp, j, column->cost);
        glp_set_col_kind(s->lp, j, column->is_integer ? GLP_IV : GLP_CV);
        glp_set_col_bnds(s->lp, j, bound_kind(column->bounds), column->bounds.lower,
                         column->bounds.upper);
    }
}

static void load_rows(session *s)
{
    const ms_problem *p = s->problem;
    if (p->rows.count > 0)
        glp_add_rows(s->lp, (int)p->rows.count);
    for (uint32_t i = 0; i < p->rows.count; i++) {
        const struct ms_problem_row *row = &p->rows.items[i];
        uint32_t end = i + 1 < p->rows.count ? row[1].first_term : p->terms.count;
        int count = 0;
        for (uint32_t t = row->first_term; t < end; t++) {
            s->indices[++count] = (int)p->terms.items[t].column + 1;
            s->coefficients[count] = p->terms.items[t].coefficient;
        }
        glp_set_mat_row(s->lp, (int)i + 1, count, s->indices, s->coefficients);
        glp_set_row_bnds(s->lp, (int)i + 1, bound_kind(row->bounds), row->bounds.lower,
                         row->bounds.upper);
    }
}

/* ---- solving ---- */

static void set_parameters(session *s, glp_iocp *parameters)
{
    glp_init_iocp(parameters);
    int on = s->is_plain ? GLP_OFF : GLP_ON, costly = s->options->has_few_cuts ? GLP_OFF : on;
    double limit_ms = s->options->time_limit_s * 1000;
    parameters->msg_lev = s->options->stop ? GLP_MSG_ON : GLP_MSG_OFF;
    parameters->presolve = on;
    parameters->gmi_cuts = parameters->mir_cuts = costly;
    parameters->cov_cuts = parameters->clq_cuts = on;
    parameters->tol_int = 1e-8; /* GLPK's own takes a hundred-thousandth of a module for none */
    parameters->mip_gap = s->options->gap;
    parameters->tm_lim = limit_ms < INT_MAX ? (int)limit_ms : INT_MAX;
    parameters->cb_func = watch;
    parameters->cb_info = s;
}

/* Steps after which the simplex method goes in circles, as it does now and then: far more than any
 * problem took that was solved. */
static int most_steps(const session *s)
{
    const uint64_t steps =
        10000 + 100 * ((uint64_t)s->problem->rows.count + s->problem->columns.count);
    return steps < INT_MAX ? (int)steps : INT_MAX;
}

static int run_simplex(session *s)
{
    glp_iocp parameters;
    glp_smcp simplex;
    set_parameters(s, &parameters);
    glp_init_smcp(&simplex);
    simplex.msg_lev = parameters.msg_lev;
    simplex.tm_lim = parameters.tm_lim;
    simplex.it_lim = most_steps(s);
    return glp_simplex(s->lp, &simplex);
}

static int run_solver(session *s)
{
    glp_iocp parameters;
    set_parameters(s, &parameters);
    if (s->is_plain) { /* without presolve the search wants an optimal relaxation */
        int code = run_simplex(s);
        if (code != 0)
            return code;
        if (glp_get_status(s->lp) == GLP_NOFEAS)
            return GLP_ENOPFS;
    }
    return glp_intopt(s->lp, &parameters);
}

static void keep_values(session *s)
{
    ms_solution *solution = s->solution;
    solution->has_solution = true;
    solution->objective = glp_mip_obj_val(s->lp);
    for (uint32_t i = 0; i < s->problem->columns.count; i++)
        solution->values[i] = glp_mip_col_val(s->lp, (int)i + 1);
}

/* False when the solver gave up without an answer. */
static bool read_answer(session *s, int code)
{
    ms_solution *solution = s->solution;
    int status = glp_mip_status(s->lp);
    if (status == GLP_OPT || status == GLP_FEAS)
        keep_values(s);
    if (code == GLP_ENOPFS || (code == 0 && status == GLP_NOFEAS)) {
        solution->outcome = MS_SOLVER_INFEASIBLE;
        return true;
    }
    if (code == 0 && status == GLP_OPT)
        solution->bound = solution->objective;
    /* It may have ended right after the bound rose, and then nobody was told. */
    double implied = solution->objective - s->options->gap * fabs(solution->objective);
    if (code == GLP_EMIPGAP && solution->has_solution && implied > solution->bound)
        solution->bound = implied;
    bool ended_early = code == GLP_ETMLIM || code == GLP_ESTOP || code == GLP_EITLIM;
    solution->outcome = ended_early ? MS_SOLVER_LIMIT : MS_SOLVER_PROVEN;
    if (solution->has_solution && solution->bound > solution->objective)
        solution->bound = solution->objective;
    return ended_early || (solution->has_solution && (code == 0 || code == GLP_EMIPGAP));
}

/* False when the solver gave up without an answer. */
static bool read_relaxed(session *s, int code)
{
    ms_solution *solution = s->solution;
    int status = glp_get_status(s->lp);
    bool has_none = code == 0 && status == GLP_NOFEAS;
    solution->has_solution = code == 0 && status == GLP_OPT;
    solution->outcome = has_none                 ? MS_SOLVER_INFEASIBLE
                        : solution->has_solution ? MS_SOLVER_PROVEN
                                                 : MS_SOLVER_LIMIT;
    if (solution->has_solution)
        solution->objective = solution->bound = glp_get_obj_val(s->lp);
    for (uint32_t i = 0; solution->has_solution && i < s->problem->columns.count; i++) {
        solution->values[i] = glp_get_col_prim(s->lp, (int)i + 1);
        solution->prices[i] = glp_get_col_dual(s->lp, (int)i + 1);
    }
    return true;
}

/* Nothing of this frame changes after setjmp but what lies in the session. */
static bool solve_guarded(session *s)
{
    if (setjmp(s->escape) != 0)
        return false;
    glp_error_hook(leave, s);
    s->may_escape = true;
    if (s->options->memory_mib > 0)
        glp_mem_limit((int)s->options->memory_mib);
    s->lp = glp_create_prob();
    glp_set_obj_dir(s->lp, GLP_MIN);
    load_columns(s);
    load_rows(s);
    return s->is_relaxed ? read_relaxed(s, run_simplex(s)) : read_answer(s, run_solver(s));
}

/* One try in an environment of its own. */
static ms_status try_once(session *s, bool *answered, ms_error *err)
{
    *answered = s->has_failed = s->may_escape = false;
    s->said[0] = '\0';
    s->solution->has_solution = false;
    s->solution->bound = -INFINITY;
    int state = glp_init_env();
    if (state == 1)
        return ms_fail(err, MS_ERR_SOLVER, "GLPK is in use by this thread");
    if (state != 0)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the solver");
    glp_term_hook(hear, s);
    *answered = solve_guarded(s);
    s->may_escape = false;
    glp_free_env();
    if (!*answered && !s->has_failed && is_stopped(s)) {
        s->solution->outcome = MS_SOLVER_LIMIT;
        *answered = true;
    }
    if (*answered || !s->has_failed || !strstr(s->said, "memory"))
        return MS_OK;
    if (strstr(s->said, "limit"))
        return ms_fail(err, MS_ERR_LIMIT, "the solver needs more than %u MiB",
                       (unsigned)s->options->memory_mib);
    return ms_fail(err, MS_ERR_NOMEM, "out of memory for the solver");
}

/* Faults of the presolver and of cuts are known; the second try does without. */
static ms_status solve(session *s, ms_error *err)
{
    bool answered = false;
    for (int i = 0; i < 2 && !answered; i++) {
        s->is_plain = i > 0;
        ms_status status = try_once(s, &answered, err);
        if (status != MS_OK)
            return status;
    }
    if (!answered)
        return ms_fail(err, MS_ERR_SOLVER, "the solver gave up: %s",
                       s->has_failed ? s->said : "no reason given");
    return MS_OK;
}

/* What GLPK would refuse, or worse, accept. */
static bool is_sound(const ms_problem *p)
{
    for (uint32_t i = 0; i < p->columns.count; i++) {
        const struct ms_problem_column *c = &p->columns.items[i];
        if (!isfinite(c->cost) || !(c->bounds.lower <= c->bounds.upper))
            return false;
    }
    for (uint32_t i = 0; i < p->rows.count; i++) {
        const struct ms_problem_row *r = &p->rows.items[i];
        uint32_t end = i + 1 < p->rows.count ? r[1].first_term : p->terms.count;
        if (!(r->bounds.lower <= r->bounds.upper) || end - r->first_term > p->columns.count)
            return false;
    }
    for (uint32_t i = 0; i < p->terms.count; i++)
        if (!isfinite(p->terms.items[i].coefficient) ||
            p->terms.items[i].column >= p->columns.count)
            return false;
    return p->columns.count < INT_MAX && p->rows.count < INT_MAX && p->terms.count < INT_MAX;
}

static ms_status solve_problem(const ms_problem *problem, const ms_solver_options *options,
                               bool is_relaxed, ms_solution *solution, ms_error *err)
{
    *solution = (ms_solution){.bound = -INFINITY};
    if (problem->no_memory)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the problem");
    if (!is_sound(problem))
        return ms_fail(err, MS_ERR_INTERNAL, "the problem is malformed");
    session *s = calloc(1, sizeof *s);
    size_t columns = problem->columns.count + 1;
    ms_status status = MS_ERR_NOMEM;
    solution->values = calloc(columns, sizeof *solution->values);
    solution->prices = is_relaxed ? calloc(columns, sizeof *solution->prices) : NULL;
    if (s && solution->values && (solution->prices || !is_relaxed)) {
        s->is_relaxed = is_relaxed;
        s->problem = problem;
        s->options = options;
        s->solution = solution;
        s->indices = calloc(columns, sizeof *s->indices);
        s->coefficients = calloc(columns, sizeof *s->coefficients);
        if (s->indices && s->coefficients)
            status = solve(s, err);
        free(s->indices);
        free(s->coefficients);
    }
    free(s);
    if (status == MS_ERR_NOMEM)
        ms_error_set(err, status, "out of memory for the solver");
    return status;
}

ms_status ms_problem_solve(const ms_problem *problem, const ms_solver_options *options,
                           ms_solution *solution, ms_error *err)
{
    return solve_problem(problem, options, false, solution, err);
}

ms_status ms_problem_relax(const ms_problem *problem, const ms_solver_options *options,
                           ms_solution *solution, ms_error *err)
{
    return solve_problem(problem, options, true, solution, err);
}
