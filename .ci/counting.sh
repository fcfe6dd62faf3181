# Counts test results and prints the summary. check and .ci/run source this file.
# shellcheck shell=bash disable=SC2154

# Prevents __pycache__ folders in the source tree.
export PYTHONDONTWRITEBYTECODE=1
# Debian's Python packages work only with this interpreter.
python=/usr/bin/python3
[ -x $python ] || python=python3

passed=0
failed=0
skipped=0
part=
part_begin=0
parts=()
# heading NAME: begins a group of tests, and records the duration of the previous group.
heading() {
  [ -z "$part" ] || parts+=("$(printf '%3d:%02d  %s' $(((SECONDS - part_begin) / 60)) $(((SECONDS - part_begin) % 60)) "$part")")
  part=$1
  part_begin=$SECONDS
  [ -z "$part" ] || printf '\n== %s\n' "$part"
}

# count_from FILE: adds the counts in the last line of FILE, "N passed, N failed[, N skipped]". A missing line
# counts as a failure, because the program that wrote the file has crashed.
count_from() {
  local line
  line=$(tail -n 1 "$1")
  if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed(,\ ([0-9]+)\ skipped)?$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    skipped=$((skipped + ${BASH_REMATCH[4]:-0}))
  else
    failed=$((failed + 1))
  fi
}

# one NAME COMMAND…: runs COMMAND as one test, and prints its output if it fails. Requires a folder $work.
one() {
  local name=$1
  shift
  if "$@" > "$work/one.log" 2>&1; then
    echo "$name: passed"
    passed=$((passed + 1))
  else
    cat "$work/one.log"
    echo "$name: FAILED"
    failed=$((failed + 1))
  fi
}

# end_to_end BUILD OPTION…: runs the end-to-end tests with these pytest options, and counts each test.
end_to_end() {
  local build=$1 options=(-q --tb=short "--junitxml=$work/e2e.xml")
  shift
  # Without axe-core, pytest skips two tests of pages. In CI, missing axe-core counts as one failed test.
  if ! fetch_axe "$build/axe-core"; then
    [ -z "${CI:-}" ] || failed=$((failed + 1))
    echo "Tests that need axe-core are skipped."
  fi
  [ ! -f "$build/axe-core/axe.min.js" ] || export QUARRY_AXE=$build/axe-core/axe.min.js
  # There are more pytest workers than cores, because tests mostly wait. The tests in one file use the same servers, so
  # a single worker runs all tests of the file.
  $python -c 'import xdist' 2> /dev/null && options+=(-n $(($(nproc) + 1)) --dist loadfile)
  QUARRY_BUILD=$build $python -m pytest "${options[@]}" "$@" || true
  $python tests/junit_count.py "$work/e2e.xml" > "$work/e2e.log" || true
  count_from "$work/e2e.log"
}

# thread_sanitizer: runs the tests of multithreaded code under ThreadSanitizer. This covers the disk-assisted queue,
# streams, walks over all artifacts, and replication. Tests that kill processes are excluded, because ThreadSanitizer
# does not follow a fork.
thread_sanitizer() {
  configure build-tsan . -Dwerror=true -Db_sanitize=thread -Db_lundef=false "${quick_build[@]}" -Dcpp_args=-g1 &&
    ninja -C build-tsan tests/unit/spool/test-spool tests/unit/spool/test-spool-stream \
      tests/unit/repository/test-repository-walk tests/unit/replica/test-replica &&
    TSAN_OPTIONS=halt_on_error=1 timeout 20m build-tsan/tests/unit/spool/test-spool \
      --test-case-exclude='*queue that is killed*' &&
    TSAN_OPTIONS=halt_on_error=1 timeout 10m build-tsan/tests/unit/spool/test-spool-stream \
      --test-case-exclude='*killed*,*million*,*process*' &&
    TSAN_OPTIONS=halt_on_error=1 timeout 5m build-tsan/tests/unit/repository/test-repository-walk &&
    TSAN_OPTIONS=halt_on_error=1 timeout 10m build-tsan/tests/unit/replica/test-replica \
      --source-file='*node_test*,*socket_server_test*'
}

# fuzz SECONDS FILE: runs each fuzz target for SECONDS and counts it as one test. Writes the output to FILE.
fuzz() {
  local line targets=0
  tests/fuzz/run "$1" 2>&1 | tee "$2" || true
  while read -r line; do
    case $line in
      *", no finding") passed=$((passed + 1)) ;;
      *": FINDING"*) failed=$((failed + 1)) ;;
      *) continue ;;
    esac
    targets=$((targets + 1))
  done < "$2"
  [ $targets -gt 0 ] || failed=$((failed + 1))
}

# finish: prints the duration of each group of tests, and the counts. Exits with 1 if a test failed or none ran.
finish() {
  heading ""
  printf '\n'
  printf '%s\n' "${parts[@]}"
  local line="$passed passed, $failed failed"
  [ "$skipped" -eq 0 ] || line+=", $skipped skipped"
  printf '\n%s\n' "$line"
  if [ "$failed" -gt 0 ] || [ "$passed" -eq 0 ]; then exit 1; fi
  exit 0
}
