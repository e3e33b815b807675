# Completes commands, options, and the names of packs, skills, agents and packages.
# The candidates come from `sp __complete`, which reads local files only.

function __sp_complete
    set -l before (commandline -opc)
    set -l candidates (command $before[1] __complete fish $before[2..] (commandline -ct) 2>/dev/null)
    if test (count $candidates) -gt 0
        printf '%s\n' $candidates
    else
        __fish_complete_path (commandline -ct)
    end
end

complete -c sp -f -a '(__sp_complete)'
