#compdef sp
# Completes commands, options, and the names of packs, skills, agents and packages.
# The candidates come from `sp __complete`, which reads local files only.

_sp() {
    local -a candidates
    local line
    while IFS= read -r line; do
        candidates+=("$line")
    done < <(command "${words[1]}" __complete zsh "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#candidates} )); then
        _describe 'sp' candidates
    else
        _files
    fi
}

compdef _sp sp
