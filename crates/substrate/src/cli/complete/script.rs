//! The scripts that make shells ask `substrate __complete`.

use clap_complete::Shell;

const BASH: &str = r#"# Completions of substrate for bash. They ask `substrate __complete`, so they know agents, messages and efforts.
_substrate() {
    local word
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        # Where `=` breaks words, only what follows it is completed.
        [[ $COMP_WORDBREAKS == *=* && $word == --*=* ]] && word=${word#*=}
        COMPREPLY+=("$word")
    done < <("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o bashdefault -o default -F _substrate substrate
"#;

const ZSH: &str = r#"#compdef substrate
# Completions of substrate for zsh. They ask `substrate __complete`, so they know agents, messages and efforts.
_substrate() {
    local -a found
    local line name
    while IFS= read -r line; do
        name=${line%%$'\t'*}
        found+=("${name//:/\\:}:${line#*$'\t'}")
    done < <("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#found} )); then
        _describe -V substrate found
    else
        _files
    fi
}
if [[ ${funcstack[1]} == _substrate ]]; then
    _substrate "$@"
else
    compdef _substrate substrate
fi
"#;

const FISH: &str = r#"# Completions of substrate for fish. They ask `substrate __complete`, so they know agents, messages and efforts.
function __substrate_complete
    set -l before (commandline -opc)
    set -l word (commandline -ct)
    set -l found (command $before[1] __complete $before[2..-1] "$word" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path "$word"
    end
end
complete -c substrate -f -a '(__substrate_complete)'
"#;

/// The script of a shell that can ask. `None`: the shell gets what never changes.
pub(in crate::cli) fn script(shell: Shell) -> Option<&'static str> {
    match shell {
        Shell::Bash => Some(BASH),
        Shell::Zsh => Some(ZSH),
        Shell::Fish => Some(FISH),
        _ => None,
    }
}
