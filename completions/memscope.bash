# SPDX-License-Identifier: GPL-3.0-or-later
# bash completion for memscope: names come from the program itself.

_memscope_words() {
    memscope "$1" 2>/dev/null | awk -v skip="$2" 'NR > skip { print $1 }'
}

_memscope_commands() {
    memscope help 2>/dev/null | awk '/^Commands/ { on = 1; next } !NF { on = 0 } on { print $1 }'
}

_memscope_options() {
    memscope help "$1" 2>/dev/null | grep -oE -- '--[a-z][a-z0-9-]+' | sort -u
}

_memscope_values() {
    case $1 in
    --config) _memscope_words models 1 ;;
    --device) _memscope_words devices 2; echo cpu ;;
    --dtype) echo bf16 fp16 fp32 ;;
    --autocast) echo none bf16 fp16 ;;
    --optimizer) echo adamw adam sgd sgd-momentum rmsprop adagrad adafactor adafactor-torch muon lion lion-8bit paged-lion paged-lion-8bit adamw-32bit adamw-8bit paged-adamw paged-adamw-8bit trainer-lion-8bit trainer-paged-lion-8bit trainer-adamw-8bit trainer-paged-adamw-8bit ;;
    --optimizer-impl) echo fused foreach loop ;;
    --quantize) echo none nf4 fp4 nf4:double fp4:double int8 gptq:4:128 awq:4:128 fp8-block mxfp4 ;;
    --upcast | --optimizer-in-backward) echo yes no ;;
    --grad-accumulation-dtype) echo same fp32 ;;
    --liger) echo none all rope+rms-norm+swiglu loss ;;
    --adapter-dtype) echo fp32 bf16 fp16 ;;
    --optimizer-device | --parameter-device) echo device host ;;
    --attention) echo auto flash efficient math eager cpu-flash ;;
    --experts) echo auto grouped eager ;;
    --routing) echo balanced skewed ;;
    --checkpointing) echo none all ;;
    --checkpoint-kind) echo non-reentrant reentrant ;;
    --allocator) echo cuda cuda-expandable raw ;;
    --fit) echo batch seq rank layers ;;
    --objectives) echo expected_device_bytes,tokens_per_s peak_memory_bytes,step_time_ms ;;
    --format)
        case $2 in
        sweep) echo csv jsonl ;;
        diff) echo console json md html ;;
        check) echo console json md junit github sarif gitlab custom-smaller-is-better shields prometheus ;;
        analyze) echo console json md csv html svg chrome-trace memory-viz speedscope folded ;;
        *) echo console json md csv $([ "$2" != plan ] || echo html svg) ;;
        esac
        ;;
    --what) echo batch seq rank layers ;;
    --planner) echo milp greedy rules uniform none ;;
    --target) echo free hf pytorch torchtitan torchtune megatron deepspeed nemo axolotl all ;;
    --without) echo checkpoint selective offload tile chunk ;;
    --allow) echo host-optimizer host-parameters none ;;
    --rules-mode) echo conservative balanced aggressive ;;
    --color) echo auto always never ;;
    esac
}

_memscope() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if [ "$current" = = ]; then
        current=
    elif [ "$previous" = = ]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_memscope_commands) --help --version" -- "$current")
        return
    fi
    case ${COMP_WORDS[1]} in
    help) mapfile -t COMPREPLY < <(compgen -W "$(_memscope_commands)" -- "$current") ;;
    schema) mapfile -t COMPREPLY < <(compgen -W "$(memscope schema 2>/dev/null)" -- "$current") ;;
    analyze | plan | fit | sweep | merge | diff | check | baseline | capture | compare)
        case $previous in
        --*)
            local values
            values=$(_memscope_values "$previous" "${COMP_WORDS[1]}")
            [ -z "$values" ] || mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
            ;;
        esac
        case $current in
        -*) mapfile -t COMPREPLY < <(compgen -W "$(_memscope_options "${COMP_WORDS[1]}")" -- "$current") ;;
        esac
        ;;
    esac
}

complete -o default -F _memscope memscope
