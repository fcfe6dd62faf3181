# How a build folder is configured, and what is built in it. Sourced by quickstart, check and .ci/run, which share build/.
# shellcheck shell=bash disable=SC2034

# Quick to compile: many sources as one unit, -Og (quicker than -O0 and -O1 here), no debug information. Such a build is
# for trying and testing, and cannot be installed: README.md says how that one is made.
quick_build=(-Doptimization=g -Ddebug=false -Dunity=on -Dunity_size=40)
programs=(src/app/{quarryd,quarry,quarry-courier,quarry-changes} src/repository/libquarry-log-guard.so)

# configure FOLDER OPTION…: makes the build folder, unless it is there already.
configure() {
  local folder=$1
  shift
  [ -f "$folder/build.ninja" ] || meson setup "$folder" "$@"
}
