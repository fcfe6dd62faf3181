# Completion for quarry and quarryd in bash. The words are read from --help, so they include every option.

# _quarry_words COMMAND…: prints the options and subcommands of a command, one per line.
_quarry_words() {
  "$@" --help 2> /dev/null |
    sed -nE -e 's/^  (-[^ ]+).*/\1/p' -e '/^Subcommands:/,$s/^  ([a-z][a-z-]*) .*/\1/p' | tr , '\n'
}

_quarry() {
  local command=("$1") words word
  words=$(_quarry_words "$1")
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word == [a-z]* ]] && grep -qxF -- "$word" <<< "$words"; then
      command+=("$word")
      words=$(_quarry_words "${command[@]}")
    fi
  done
  # If the word does not begin with a dash, complete subcommands, or files if there are none.
  [[ $2 == -* ]] || words=$(grep '^[a-z]' <<< "$words")
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$2")
}

complete -o default -F _quarry quarry quarryd
