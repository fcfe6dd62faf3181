# Configures a build folder and names what is built in it. Sourced by quickstart, check and .ci/run, which share build/.
# shellcheck shell=bash disable=SC2034

# Options for a short compilation: large unity units, -Og (quicker here than -O0 and -O1), no debug information. Such a
# build is for trials and tests and refuses to be installed; README.md shows the build for installation.
quick_build=(-Doptimization=g -Ddebug=false -Dunity=on -Dunity_size=40)
programs=(src/app/{quarryd,quarry,quarry-courier,quarry-changes} src/repository/libquarry-log-guard.so)

# configure FOLDER OPTION…: creates the build folder unless it exists.
configure() {
  local folder=$1
  shift
  [ -f "$folder/build.ninja" ] || meson setup "$folder" "$@"
}
