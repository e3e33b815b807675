# Completes commands, options, and the names of packs, skills, agents and packages.
# The candidates come from `sp __complete`, which reads local files only.

_sp() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <(command "$1" __complete bash "${COMP_LINE:0:COMP_POINT}" "$2" 2>/dev/null)
    # No space after a value that continues, such as `--limit depth=`.
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

complete -o bashdefault -o default -F _sp sp
