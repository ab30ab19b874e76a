# SPDX-License-Identifier: GPL-3.0-or-later
# memscope: `make` builds, `make check` tests, `make help` lists the rest.
# Settings: CONFIG=release|debug|asan|tsan|cov|fuzz, WERROR=1, CUDA=1 (with CUDA_HOME=), CC, CFLAGS, BUILD, PREFIX, DESTDIR.

CONFIG ?= release
ifeq ($(origin CC),default)
CC := gcc
endif
# One folder for each configuration and compiler, so that their objects never mix.
ifneq ($(origin BUILD),command line)
BUILD := build/$(CONFIG)$(if $(filter-out fuzz,$(CONFIG)),$(if $(findstring clang,$(notdir $(CC))),-clang))
endif

# The names of the GNU coding standards; the same in capitals works too.
prefix      ?= $(or $(PREFIX),/usr/local)
exec_prefix ?= $(prefix)
bindir      ?= $(or $(BINDIR),$(exec_prefix)/bin)
libdir      ?= $(or $(LIBDIR),$(exec_prefix)/lib)
includedir  ?= $(or $(INCLUDEDIR),$(prefix)/include)
datarootdir ?= $(prefix)/share
datadir     ?= $(or $(DATADIR),$(datarootdir))
mandir      ?= $(or $(MANDIR),$(datarootdir)/man)
docdir      ?= $(or $(DOCDIR),$(datarootdir)/doc/memscope)

VERSION := $(shell sed -n 's/^.define MS_VERSION "\(.*\)"/\1/p' include/memscope/memscope.h)
SONAME  := libmemscope.so.$(firstword $(subst ., ,$(VERSION)))

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wswitch-enum -Wvla -Wundef -Wformat=2 -Wcast-qual -Wwrite-strings
SANITIZE    := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# Threads may have as little stack as `ulimit -s 128` gives them.
OPT_release := -O2 -Wframe-larger-than=20480
OPT_debug   := -O0
OPT_asan    := -Og $(SANITIZE)
OPT_tsan    := -O1 -fsanitize=thread -fno-omit-frame-pointer
OPT_cov     := -O0 --coverage
OPT_fuzz    := -O1 $(SANITIZE) -fsanitize=fuzzer-no-link
OPT := $(OPT_$(CONFIG))
ifeq ($(OPT),)
$(error CONFIG must be release, debug, asan, tsan, cov or fuzz)
endif

PKG_CONFIG ?= pkg-config
pkg = $(shell $(PKG_CONFIG) $(1) $(2) 2>/dev/null || echo $(3))
# GLPK has no .pc file on Debian 12.
DEP_CFLAGS  := $(call pkg,--cflags,libcjson,) $(call pkg,--cflags,yaml-0.1,)
DEP_LIBS    := $(call pkg,--libs,libcjson,-lcjson) $(call pkg,--libs,yaml-0.1,-lyaml) -lglpk -lm -pthread
TEST_CFLAGS := $(call pkg,--cflags,cmocka,)
TEST_LIBS   := $(call pkg,--libs,cmocka,-lcmocka)

CFLAGS   ?= $(if $(filter debug,$(CONFIG)),-g,-g1)
COMPILE   = $(CC) -std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc $(WARN) $(OPT) -fPIC \
            $(DEP_CFLAGS) $(CPPFLAGS) $(CFLAGS)
ERRORS   := $(if $(filter 1,$(WERROR)),-Werror)
# CUDA=1 compares our declarations of CUDA with the toolkit's headers; nothing is linked with it.
CUDA_HOME ?= /usr/local/cuda
WITH_CUDA := $(if $(filter 1,$(CUDA)),-DMS_WITH_CUDA -isystem $(CUDA_HOME)/include)
$(BUILD)/src/hardware/replay/cuda/cuda_headers.o: CPPFLAGS += $(WITH_CUDA)
LINK      = $(CC) $(OPT) $(CFLAGS) $(LDFLAGS)

# Sources are found: stages are folders of src, and may have folders of their own.
SOURCES  := $(shell find src -name '*.c' | LC_ALL=C sort)
LIB_SRC  := $(filter-out src/cli/% src/hardware/nulldevice/%,$(SOURCES))
CLI_SRC  := $(filter src/cli/%,$(SOURCES))
NULL_SRC := $(filter src/hardware/nulldevice/%,$(SOURCES))
UNIT_SRC := $(sort $(wildcard tests/unit/*/test_*.c))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
BENCH_SRC := $(sort $(wildcard tests/bench/*.c))
DATA     := $(sort $(wildcard configs/*.json configs/trainers/*.keys families/*.family schemas/*.schema.json $(filter-out %/__init__.py,$(wildcard python/memscope/pytorch/*.py)) src/report/kit/html/*.css \
                             src/report/kit/html/*.js))
HEADERS  := $(sort $(wildcard include/memscope/*.h))
FAMILIES := $(filter families/%,$(DATA))
GEN      := $(if $(wildcard scripts/embed.sh),$(BUILD)/gen/embedded.c $(BUILD)/gen/families.c)

objects   = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIB_OBJ  := $(call objects,$(LIB_SRC)) $(GEN:.c=.o)
CLI_OBJ  := $(call objects,$(CLI_SRC))
NULL_OBJ := $(call objects,$(NULL_SRC))
LIB      := $(BUILD)/libmemscope.a
SHARED   := $(BUILD)/$(SONAME)
NULL     := $(BUILD)/nulldevice/libmemscope_null.so
BINARY   := $(if $(wildcard src/cli/main.c),$(BUILD)/memscope)
UNIT     := $(UNIT_SRC:%.c=$(BUILD)/%)
REPLAY   := $(FUZZ_SRC:%.c=$(BUILD)/%)
BENCH    := $(BENCH_SRC:%.c=$(BUILD)/%)
OOM      := $(BUILD)/tests/oom/library $(if $(BINARY),$(BUILD)/tests/oom/memscope)

# V=1 shows the commands.
Q := $(if $(V),,@)
say = $(if $(V),:,echo) '  $(1)'

# How tests run: RUNNER goes in front of every program (valgrind), RESULTS collects the counts.
export RUNNER CC CONFIG
export LC_ALL := C
export BUILD
export MEMSCOPE := $(CURDIR)/$(BUILD)/memscope
RESULTS := $(BUILD)/results
SUITE   = CHECK_EVERY=$(CHECK_EVERY) TRY_EVERY=$(TRY_EVERY) ORACLE_EVERY=$(ORACLE_EVERY) sh scripts/run_suite.sh $(RESULTS)

all: $(LIB) $(SHARED) $(BINARY) $(NULL)       ## build the program and both libraries (the default)

# ---- building ----

# Holds the compile command; objects are rebuilt when it changes.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(COMPILE)' | cmp -s - $@ || echo '$(COMPILE)' > $@

# The same for the one object that CUDA=1 changes.
$(BUILD)/cuda: FORCE
	@mkdir -p $(@D)
	@echo '$(WITH_CUDA)' | cmp -s - $@ || echo '$(WITH_CUDA)' > $@
$(BUILD)/src/hardware/replay/cuda/cuda_headers.o: $(BUILD)/cuda

$(BUILD)/%.o: %.c Makefile $(BUILD)/flags
	@mkdir -p $(@D)
	@$(call say,CC   $<)
	$(Q)$(COMPILE) $(ERRORS) $(VISIBILITY) -MMD -MP -c $< -o $@

$(NULL_OBJ): VISIBILITY := -fvisibility=hidden -finstrument-functions # see calls.c
# It is loaded into programs that no sanitizer knows.
$(NULL) $(NULL_OBJ): private OPT := $(filter-out -fsanitize%,$(OPT))
$(BUILD)/tests/%.o: tests/%.c Makefile $(BUILD)/flags
	@mkdir -p $(@D)
	@$(call say,CC   $<)
	$(Q)$(COMPILE) $(ERRORS) -Itests $(TEST_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/gen/embedded.c: scripts/embed.sh $(DATA)
	@mkdir -p $(@D)
	@$(call say,DATA $@)
	$(Q)sh scripts/embed.sh $(DATA) > $@.tmp && mv $@.tmp $@

$(BUILD)/gen/families.c: scripts/family_rows.sh $(FAMILIES)
	@mkdir -p $(@D)
	@$(call say,DATA $@)
	$(Q)sh scripts/family_rows.sh $(FAMILIES) > $@.tmp && mv $@.tmp $@

$(GEN:.c=.o): $(BUILD)/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/flags
	@$(call say,CC   $<)
	$(Q)$(COMPILE) $(ERRORS) -Wno-overlength-strings -MMD -MP -c $< -o $@

# Only what the public headers declare leaves the shared library.
$(BUILD)/gen/exports.map: $(HEADERS) scripts/exports.sh
	@mkdir -p $(@D)
	@sh scripts/exports.sh $(HEADERS) > $@

$(LIB): $(LIB_OBJ)
	@rm -f $@
	@$(call say,AR   $@)
	$(Q)$(AR) rcs $@ $(LIB_OBJ)

$(SHARED): $(LIB_OBJ) $(BUILD)/gen/exports.map
	@$(call say,LINK $@)
	$(Q)$(LINK) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=$(BUILD)/gen/exports.map \
	    -o $@ $(LIB_OBJ) $(DEP_LIBS)
	@ln -sf $(SONAME) $(BUILD)/libmemscope.so

# The null device has the names of libraries beside it that are opened by name.
NULL_NAMES := libcuda.so.1 libnvidia-ml.so.1 libnvrtc.so.12 libnvrtc.so.13
$(NULL): $(NULL_OBJ)
	@mkdir -p $(@D)
	@$(call say,LINK $@)
	$(Q)$(LINK) -shared -Wl,-soname,$(@F) -o $@ $(NULL_OBJ) -ldl -pthread
	@for name in $(NULL_NAMES); do ln -sf $(@F) $(@D)/$$name; done

$(BUILD)/memscope: $(CLI_OBJ) $(LIB)
	@$(call say,LINK $@)
	$(Q)$(LINK) -o $@ $(CLI_OBJ) $(LIB) $(DEP_LIBS)

# Test programs share the library with all its symbols: linking each with the archive takes longer than compiling them.
TESTED := $(if $(filter release debug asan,$(CONFIG)),$(BUILD)/tests/libmemscope_tested.so,$(LIB))
$(BUILD)/tests/libmemscope_tested.so: $(LIB_OBJ)
	@mkdir -p $(@D)
	@$(call say,LINK $@)
	$(Q)$(LINK) -shared -Wl,-soname,$(@F) -Wl,-Bsymbolic -o $@ $(LIB_OBJ) $(DEP_LIBS)
WITH_TESTED := $(TESTED) -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..'

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(TESTED)
	@$(call say,LINK $@)
	$(Q)$(LINK) -o $@ $< $(WITH_TESTED) $(TEST_LIBS) $(DEP_LIBS)

FUZZ_MAIN := $(if $(filter fuzz,$(CONFIG)),-fsanitize=fuzzer,$(BUILD)/tests/fuzz/replay.o)
$(BUILD)/tests/fuzz/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o $(TESTED) $(filter %.o,$(FUZZ_MAIN))
	@$(call say,LINK $@)
	$(Q)$(LINK) -o $@ $< $(FUZZ_MAIN) $(WITH_TESTED) $(DEP_LIBS)

$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(TESTED)
	@$(call say,LINK $@)
	$(Q)$(LINK) -o $@ $< $(WITH_TESTED) $(DEP_LIBS)

# A sanitizer has its own malloc; there the linker sends our objects' calls to tests/oom/wrap.c.
ifeq ($(CONFIG),asan)
FAIL_SRC := tests/oom/fail.c tests/oom/wrap.c
WRAP := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free,--wrap=strdup,--wrap=strndup
else
FAIL_SRC := tests/oom/fail.c tests/oom/interpose.c
endif
$(BUILD)/tests/oom/library: $(call objects,tests/oom/library.c $(FAIL_SRC)) $(LIB)
	@$(call say,LINK $@)
	$(Q)$(LINK) $(WRAP) -o $@ $^ $(DEP_LIBS)
$(BUILD)/tests/oom/memscope: $(call objects,tests/oom/program.c $(FAIL_SRC)) $(CLI_OBJ) $(LIB)
	@$(call say,LINK $@)
	$(Q)$(LINK) $(WRAP) -o $@ $^ $(DEP_LIBS)

# ---- tests ----

# Of checks with many rows every CHECK_EVERY-th is run, of measured cases every ORACLE_EVERY-th. A sanitizer's programs take
# several times as long: there it is fewer, and NOT_ASAN is not run, whose code other tests run there. Of what is tried in very
# many places (failed allocations, hostile texts) every TRY_EVERY-th place is taken; 1 takes all.
IS_ASAN := $(filter asan,$(CONFIG))
CHECK_EVERY ?= $(if $(IS_ASAN),24,9)
TRY_EVERY ?= $(if $(IS_ASAN),4608,192)
ORACLE_EVERY ?= $(if $(IS_ASAN),8,1)
NOT_ASAN := tests/python/% %/test_alive %/test_choose %/test_cost_model %/test_locale tests/install/% tests/golden/reports/% tests/property/plan/% tests/property/sweep/% %/check_browser.py \
            %/check_accessible.py %/check_advice.py %/check_channels.py %/check_completions.py %/check_devices.py %/check_diffs.py %/check_fits.py %/check_killed.py %/check_options.py %/check_outside.py %/check_repeats.py \
            %/check_gpus.py %/check_models.py %/check_names.py %/check_one_device.py %/check_pictures.py %/check_plans.py %/check_ready_made.py %/check_speed.py %/check_replays.py %/check_streams.py %/check_sweeps.py %/check_verdicts.py %/check_widths.py \
            %/liger_cuda.json %/optimizers_cuda.json %/quantized_cuda.json %/parameters.json %/wide_cuda.json %/llamacpp/cases.json %/hf/cases.json %/vllm/cases.json %/cuda_step_sm80.json %/norms_cuda.json %/treat_cuda.json \
            %/parallel/further_cases.json %/parallel/pipeline_tensor_cases.json %/parallel/accelerate_cases.json \
            %/parallel/treated_cases.json %/parallel/sharded_cases.json %/hf/families.json
tested = $(if $(IS_ASAN),$(filter-out $(NOT_ASAN),$(1)),$(1))

# The longest begin first, so that no core waits for them at the end.
LONG    := tests/golden/reports/run.sh tests/install/run.sh tests/property/sweep/run.sh
SCRIPTS := $(LONG) $(sort $(filter-out tests/oom/% tests/golden/cli/% $(LONG),$(wildcard tests/*/run.sh tests/*/*/run.sh)))
CASES   := $(patsubst %/,%,$(wildcard tests/golden/cli/*/))
CHECKS  := $(sort $(wildcard tests/property/*/check_*.py tests/python/check_*.py))
ORACLES := $(sort $(wildcard tests/oracle/*.json tests/oracle/parallel/*cases.json tests/oracle/llamacpp/cases.json tests/oracle/llamacpp/engine_fit.json tests/oracle/hf/*.json tests/oracle/gpu/step_h200.json tests/oracle/gpu/*default_h200.json tests/oracle/gpu/families_h200.json tests/oracle/gpu/infer_h200.json tests/oracle/vllm/*.json tests/oracle/families/*$(if $(IS_ASAN),_cpu).json))

of_unit    := $(addprefix unit=,$(call tested,$(UNIT)))
of_replay  := $(foreach t,$(REPLAY),replay=$(t):tests/fuzz/corpus/$(patsubst fuzz_%,%,$(notdir $(t))))
of_cli     := $(addprefix cases=,$(CASES)) $(addprefix script=,$(call tested,$(SCRIPTS))) $(addprefix python=,$(call tested,$(CHECKS)))
of_oracle  := $(addprefix oracle=,$(call tested,$(ORACLES)))
of_accuracy := script=tests/oracle/accuracy.sh
of_example := $(addprefix script=,$(wildcard scripts/check_example.sh))
of_oom     := $(addprefix script=,$(wildcard tests/oom/run.sh))

programs: $(UNIT) $(REPLAY) $(BENCH) $(OOM)
check: all programs                  ## run every test
	@: > $(RESULTS); bad=0; \
	$(SUITE) $(of_oom) $(of_cli) $(of_unit) $(of_replay) $(of_oracle) $(of_example) || bad=1; \
	$(if $(IS_ASAN),,$(SUITE) $(of_accuracy) || bad=1;) \
	sh scripts/totals.sh $(RESULTS) && exit $$bad

# check-STAGE runs what concerns a stage of src (docs/design/overview.md): its unit programs (tests/unit/STAGE), the cases of the commands and
# the properties that have its name (tests/golden/cli/STAGE, tests/property/STAGE), and by these rows the fuzz
# targets and other suites. A stage that is the way to other suites' figures has the oracles as well.
FUZZ_OF_model     := family
FUZZ_OF_config    := adapter launch model_config run_file size training_args
FUZZ_OF_json      := scan yaml
FUZZ_OF_plan      := plan_file
FUZZ_OF_sweep     := rows
FUZZ_OF_document  := recorded report
FUZZ_OF_diff      := report
FUZZ_OF_compare   := recorded
FUZZ_OF_check     := budgets
FUZZ_OF_calibrate := calibration
FUZZ_OF_weights   := gguf safetensors
COMMANDS_OF_config    := analyze general launch
COMMANDS_OF_cli       := $(notdir $(CASES))
COMMANDS_OF_check     := check baseline
COMMANDS_OF_nulldevice := capture
SCRIPTS_OF_config := tests/golden/config/run.sh
SCRIPTS_OF_report := tests/golden/reports/run.sh
WITH_ORACLES := autograd parallel ops treatments model step measure trace allocator
commands_of = $(or $(COMMANDS_OF_$(1)),$(filter $(1),$(notdir $(CASES))))
items_of = $(addprefix unit=,$(filter $(BUILD)/tests/unit/$(1)/%,$(UNIT))) \
    $(foreach t,$(FUZZ_OF_$(1)),replay=$(BUILD)/tests/fuzz/fuzz_$(t):tests/fuzz/corpus/$(t)) \
    $(addprefix script=,$(wildcard tests/property/$(1)/run.sh) $(SCRIPTS_OF_$(1))) \
    $(addprefix python=,$(filter tests/property/$(1)/%,$(CHECKS))) \
    $(if $(filter $(1),$(WITH_ORACLES)),$(of_oracle)) \
    $(patsubst %,cases=tests/golden/cli/%,$(call commands_of,$(1)))
check-%: all programs | results      ## run what concerns a stage: check-plan, check-report, check-cli ...
	@$(if $(strip $(call items_of,$*)),,echo 'nothing is known to concern $*' >&2; exit 2;) \
	$(SUITE) $(call items_of,$*)

results:
	@mkdir -p $(BUILD)
	@touch $(RESULTS)

python: all | results                ## test the Python package
	@$(SUITE) $(addprefix python=,$(filter tests/python/%,$(CHECKS)))
python-tables: $(BINARY)             ## make the Python files anew that the headers and the help decide
	python3 scripts/python_tables.py $(BINARY)

unit: $(UNIT) $(NULL) | results              ## run the unit programs
	@$(SUITE) $(of_unit)

replay: $(REPLAY) | results          ## run the fuzz targets over their corpus
	@$(SUITE) $(of_replay)

cli: all | results                  ## run the command-line and input cases
	@$(SUITE) $(of_cli)

oracle: oracle-cases                 ## compare with PyTorch's figures (needs python3)
	$(if $(IS_ASAN),,@$(SUITE) $(of_accuracy))
oracle-cases: all | results
	@$(SUITE) $(of_oracle)

example: all | results               ## build and run the example of the public header
	@$(SUITE) $(of_example)

oom: $(OOM) | results                     ## fail allocations in turn (TRY_EVERY=1: all of them)
	@$(SUITE) $(of_oom)

check-every-advice: programs         ## the advice of 32 runs against all triples of changes
	ADVISE_ALL=1 $(BUILD)/tests/unit/advise/test_advise
asan:                                ## every test under AddressSanitizer and UBSan
	$(MAKE) CONFIG=asan WERROR=1 check

VALGRIND := valgrind -q --leak-check=full --errors-for-leak-kinds=all --error-exitcode=99
# The null device and the backends of the replay reserve more addresses than valgrind has, and libraries of a CUDA toolkit
# and a BLAS leak.
NEVER_VALGRIND := %/test_nulldevice %/test_nulldevice_graphs %/test_nulldevice_kernels %/test_nulldevice_ledger %/test_nulldevice_nccl %/test_nulldevice_nvml %/test_nulldevice_times \
                %/test_backend_host %/test_offload %/test_stream_run %/test_stream_stress %/test_replay %/test_replay_cuda %/test_replay_stress %/test_stream_cuda %/test_streaming
# These run thousands of steps and plans, which are the same code: the sanitizers have seen it, and `make valgrind-all` runs
# them. Of those that simulate a run or two test_judge, test_report and test_plan_report stay, for all.
LONG_VALGRIND := %/test_advise %/test_alive %/test_cache %/test_cases %/test_choose %/test_copied %/test_cost_model %/test_estimate %/test_every_plan %/test_findings %/test_gate %/test_llama %/test_locale %/test_measured_ranks %/test_null %/test_operators %/test_pipeline %/test_plan_stop %/test_printable %/test_queues %/test_rank_table %/test_refusals \
                %/test_sharding %/test_simulate %/test_step %/test_sweep %/test_targets %/test_tensor_parallel %/test_trace_file %/test_watch %/test_zero
NOT_VALGRIND = $(NEVER_VALGRIND) $(LONG_VALGRIND)
valgrind: $(UNIT)                    ## the unit programs under valgrind
	@mkdir -p $(BUILD) && : > $(BUILD)/results-valgrind
	@RUNNER='$(VALGRIND)' sh scripts/run_suite.sh $(BUILD)/results-valgrind $(addprefix unit=,$(filter-out $(NOT_VALGRIND),$(UNIT)))
valgrind-all:                        ## the long ones as well (hours)
	$(MAKE) NOT_VALGRIND='$(NEVER_VALGRIND)' valgrind

# Threads, under random delays; the streams of a BLAS are not instrumented and are not used there.
WITH_THREADS := $(filter %/test_backend_host %/test_replay %/test_replay_stress %/test_stream_run %/test_stream_stress,$(UNIT))
tsan:                                ## the threads of replays and streams under ThreadSanitizer
	$(MAKE) CONFIG=tsan WERROR=1 tsan-run
tsan-run: $(WITH_THREADS) | results
	@$(SUITE) $(addprefix unit=,$(WITH_THREADS))
# All of it: so many passes with delays, failures and stops, and each call of the backend that can fail.
PASSES ?= 10000
stress-replay:                       ## PASSES replays with delays and failures under ThreadSanitizer (half an hour)
	$(MAKE) CONFIG=tsan WERROR=1 stress-replay-run
stress-replay-run: $(filter %/test_replay %/test_replay_stress,$(UNIT))
	PASSES=$(PASSES) $(BUILD)/tests/unit/replay/test_replay_stress
	TRIES=all $(BUILD)/tests/unit/replay/test_replay
stress-stream:                       ## the same for streamed layers
	$(MAKE) CONFIG=tsan WERROR=1 stress-stream-run
stress-stream-run: $(filter %/test_stream_run %/test_stream_stress,$(UNIT))
	PASSES=$(PASSES) $(BUILD)/tests/unit/stream/test_stream_stress
	TRIES=all $(BUILD)/tests/unit/stream/test_stream_run

coverage:                            ## lines of src that the tests run, as a number to look at
	$(MAKE) CONFIG=cov check
	@find build/cov/src -name '*.gcda' | xargs gcov -n 2>/dev/null | sh scripts/coverage.sh

bench: $(BENCH) $(BINARY)            ## measure the time of the analysis
	@set -e; for b in $(BENCH); do $$b; done

CBC_SECONDS ?= 10
SIMULATIONS ?= 1000
bench-plan: $(BINARY)                ## plan the reference instances beside CBC, and compare with random searches
	@sh tests/property/plan/run.sh --cbc $(CBC_SECONDS)
	@python3 tests/property/plan/random_search.py --simulations $(SIMULATIONS)

# Each target runs FUZZ_RUNS inputs, or as many as it can in FUZZ_SECONDS where those are given.
FUZZ_RUNS    ?= 1000000
FUZZ_TARGETS ?= $(FUZZ_SRC:tests/fuzz/fuzz_%.c=%)
fuzz:                                ## run each of FUZZ_TARGETS on FUZZ_RUNS inputs (needs clang)
	$(MAKE) CONFIG=fuzz CC=$(if $(findstring clang,$(CC)),$(CC),clang) fuzz-run
fuzz-run: $(FUZZ_TARGETS:%=$(BUILD)/tests/fuzz/fuzz_%)
	@for name in $(FUZZ_TARGETS); do \
	    log=$(BUILD)/$$name.log; mkdir -p $(BUILD)/corpus/$$name; \
	    $(BUILD)/tests/fuzz/fuzz_$$name -runs=$(FUZZ_RUNS) $(FUZZ_SECONDS:%=-max_total_time=%) -artifact_prefix=$(BUILD)/$$name- \
	        -print_final_stats=1 $(BUILD)/corpus/$$name tests/fuzz/corpus/$$name > $$log 2>&1 || { tail -40 $$log; exit 1; }; \
	    sed -n "s/^Done \([0-9]*\) runs in \([0-9]*\) second.*/$$name: \1 inputs in \2 s, no fault/p" $$log; done

# Files that are nearly right, made from those that are: tests/fuzz/mutate.py says how.
MUTATE_RUNS ?= 5000
mutate:                              ## give MUTATE_RUNS changed files to the program under the sanitizers
	$(MAKE) CONFIG=asan all
	BUILD=build/asan python3 tests/fuzz/mutate.py build/asan/memscope $(MUTATE_RUNS)

# For a change that must not change what is written: AGAINST is a program built before it, or its digests.
AGAINST ?= build/digests
digests: $(BINARY)                   ## compare every output with that of AGAINST, another program or its digests
	python3 tests/golden/digests.py $(BINARY) $(AGAINST)

# ---- checks of the source ----

FORMATTED := $(sort $(SOURCES) $(shell find src -name '*.h') $(wildcard include/memscope/*.h) $(shell find tests -name '*.[ch]'))
# Which files of src clang-tidy and cppcheck see: .ci/run gives those that changed, by scripts/changed_sources.sh.
LINTED ?= $(SOURCES)
lint: lint-layers lint-headers lint-docs lint-symbols lint-format lint-clang lint-cppcheck lint-tidy  ## layers, symbols, documents, clang, cppcheck, format
lint-clang:                          ## clang's warnings of the tests, which are the same without code; clang-tidy has those of src
	printf '%s\n' $(UNIT_SRC) $(FUZZ_SRC) $(BENCH_SRC) $(wildcard tests/oom/*.c) | \
	    xargs -P 2 -n 20 clang -fsyntax-only -std=c11 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc -Itests $(WARN) -Werror $(DEP_CFLAGS) $(TEST_CFLAGS)
lint-layers: all
	sh scripts/check_layers.sh $(BUILD)
	sh scripts/check_links.sh $(BUILD)
	sh scripts/check_families.sh
lint-headers:
	sh scripts/check_headers.sh
lint-docs:
	sh scripts/check_docs.sh
lint-symbols: $(LIB) $(SHARED)
	sh scripts/check_symbols.sh $(BUILD)
lint-format:
	@printf '%s\n' $(FORMATTED) | xargs -P 2 -n 100 clang-format --dry-run -Werror
lint-cppcheck:
	[ -z '$(strip $(LINTED))' ] || cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
	    --suppressions-list=scripts/cppcheck.txt --error-exitcode=1 -j2 -D_POSIX_C_SOURCE=200809L -Iinclude -Isrc $(LINTED)
# The analyzer follows at most so many states of a function; 225000 is its own limit and takes four times as long.
TIDY_NODES ?= 225000
lint-tidy:
	@TIDY_NODES=$(TIDY_NODES) WARN='$(WARN)' sh scripts/check_tidy.sh $(LINTED)

compdb:                              ## write compile_commands.json, which editors read
	@printf '%s\n' $(SOURCES) $(UNIT_SRC) $(FUZZ_SRC) $(BENCH_SRC) | \
	    sh scripts/compdb.sh '$(COMPILE)' '-Itests $(TEST_CFLAGS)' > compile_commands.json

format:                              ## rewrite the sources with clang-format
	clang-format -i $(FORMATTED)

reports: oracle-cases                        ## rewrite the committed sample reports
	sh scripts/regen_reports.sh

# ---- installing ----

$(BUILD)/memscope.pc: scripts/memscope.pc.in Makefile FORCE
	@sed -e 's|@prefix@|$(prefix)|' -e 's|@libdir@|$(libdir)|' -e 's|@includedir@|$(includedir)|' \
	    -e 's|@version@|$(VERSION)|' -e 's|@libs@|$(strip $(DEP_LIBS))|' $< > $@

# Pages of commands and files, from the tables of the program itself. RUN stands in front of a program of
# another architecture: RUN=qemu-aarch64-static.
$(BUILD)/man/made: $(BINARY)
	@$(call say,MAN  $(@D))
	$(Q)mkdir -p $(@D) && rm -f $(@D)/*.[15]
	$(Q)for page in $$($(RUN) $(BINARY) help --man); do name=$${page#memscope-}; \
	    $(RUN) $(BINARY) help --man $${name%.*} > $(@D)/$$page || exit 1; done
	@touch $@
completions: $(BINARY)               ## make the completions of zsh and fish anew
	$(BINARY) help --completion zsh > completions/_memscope
	$(BINARY) help --completion fish > completions/memscope.fish
man: $(BUILD)/man/made               ## make the manual pages of the commands, in BUILD/man

INSTALL_FOLDERS = DESTDIR='$(DESTDIR)' BINDIR='$(bindir)' LIBDIR='$(libdir)' INCLUDEDIR='$(includedir)' \
    DATADIR='$(datadir)' MANDIR='$(mandir)' DOCDIR='$(docdir)' SONAME='$(SONAME)' \
    PREFIX='$(prefix)' NULL_NAMES='$(NULL_NAMES)'
install: all man $(BUILD)/memscope.pc  ## install under DESTDIR and prefix
	$(INSTALL_FOLDERS) sh scripts/install.sh install
uninstall:                           ## remove what install put there
	$(INSTALL_FOLDERS) sh scripts/install.sh uninstall

# GLPK, cJSON, libyaml and libc within. Debian has no archive of cJSON: scripts/static_cjson.sh makes one there.
STATIC_FOLDER ?= build/static
STATIC := $(BUILD)/memscope-static
$(STATIC): $(CLI_OBJ) $(LIB)
	@$(call say,LINK $@)
	$(Q)$(LINK) -static -L$(STATIC_FOLDER) -o $@ $(CLI_OBJ) $(LIB) $(DEP_LIBS) $(STATIC_LIBS) || \
	    { echo 'memscope: every library is needed as an archive: see docs/install.md' >&2; exit 1; }
STATIC_LIBS ?= $(addprefix -l,$(foreach l,amd colamd suitesparseconfig gmp z ltdl dl,$(if $(filter /%,$(shell $(CC) -print-file-name=lib$(l).a)),$(l))))
static: $(STATIC)                    ## one static binary that needs no libraries

release:                             ## every file of a release, in build/dist, with checksums and a bill of materials
	sh scripts/release.sh

# What a Python wheel has beside Python: scripts/wheel_files.sh says where its parts lie.
WHEEL := $(BUILD)/wheel
WHEEL_LINK = $(LINK) -s -Wl,--disable-new-dtags
$(WHEEL)/made: $(LIB_OBJ) $(CLI_OBJ) $(LIB) $(NULL) $(BUILD)/gen/exports.map scripts/wheel_files.sh
	@rm -rf $(WHEEL) && mkdir -p $(WHEEL)/lib $(WHEEL)/bin $(WHEEL)/share/lib $(WHEEL)/share/nulldevice $(WHEEL)/share/licenses
	@$(call say,LINK $(WHEEL)/lib/$(SONAME))
	$(Q)$(WHEEL_LINK) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=$(BUILD)/gen/exports.map -Wl,-rpath,'$$ORIGIN' \
	    -o $(WHEEL)/lib/$(SONAME) $(LIB_OBJ) $(DEP_LIBS)
	@$(call say,LINK $(WHEEL)/bin/memscope)
	$(Q)$(WHEEL_LINK) -Wl,-rpath,'$$ORIGIN/../share/memscope/lib' -o $(WHEEL)/bin/memscope $(CLI_OBJ) $(LIB) $(DEP_LIBS)
	$(Q)SONAME='$(SONAME)' NULL='$(NULL)' NULL_NAMES='$(NULL_NAMES)' sh scripts/wheel_files.sh $(WHEEL)
	@touch $@
wheel-files: $(WHEEL)/made           ## what setup.py puts into the Python wheel

deb:                                 ## build the Debian packages, below BUILD/deb, and check them with lintian
	sh scripts/debian.sh

clean:                               ## remove everything that was built
	rm -rf build

help:                                ## list the targets
	@echo 'Targets:'
	@grep -hE '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | \
	    awk -F '\t' '{ printf "  %-10s %s\n", $$1, $$2 }'
	@echo 'Settings: CONFIG=release|debug|asan|tsan|cov  WERROR=1  CUDA=1  CUDA_HOME=  CC=clang  V=1  prefix=  DESTDIR=  FUZZ_RUNS=  MUTATE_RUNS=  AGAINST=  CHECK_EVERY=  TRY_EVERY=  ORACLE_EVERY=  TIDY_NODES=  FUZZ_SECONDS=  FUZZ_TARGETS=  CBC_SECONDS=  SIMULATIONS=  PASSES='

print-%: ; @echo '$* = $($*)'
FORCE:
.SECONDARY:
.DELETE_ON_ERROR:
.PHONY: all results programs check check-every-advice python python-tables unit replay cli oracle oracle-cases example oom asan tsan tsan-run stress-replay stress-replay-run valgrind valgrind-all coverage bench bench-plan fuzz fuzz-run mutate digests \
        lint lint-layers lint-headers lint-docs lint-symbols lint-format lint-clang lint-cppcheck lint-tidy compdb format reports install \
        uninstall man completions static wheel-files deb release clean help FORCE
-include $(shell find $(BUILD)/src $(BUILD)/tests $(BUILD)/gen -name '*.d' 2>/dev/null)
