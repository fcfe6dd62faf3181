# Completion for quarry and quarryd in fish. The words are read from --help, so they include every option.

# __quarry_help COMMAND…: prints the options and subcommands of a command, one per line.
function __quarry_help
    $argv --help 2>/dev/null |
        sed -nE -e 's/^  (-[^ ]+).*/\1/p' -e '/^Subcommands:/,$s/^  ([a-z][a-z-]*) .*/\1/p' | tr , '\n'
end

function __quarry_words
    set -l tokens (commandline -opc)
    set -l command $tokens[1]
    set -l words (__quarry_help $command)
    for token in $tokens[2..-1]
        if string match -qr '^[a-z]' -- $token; and contains -- $token $words
            set -a command $token
            set words (__quarry_help $command)
        end
    end
    # If the word does not begin with a dash, complete subcommands and files.
    string match -q -- '-*' (commandline -ct); or set words (string match -v -- '-*' $words)
    printf '%s\n' $words
end

complete -c quarry -a '(__quarry_words)'
complete -c quarryd -a '(__quarry_words)'
