# Configures a build folder. quickstart, check and .ci/run source this file and share build/.
# shellcheck shell=bash disable=SC2034

# Options for a short compilation: large unity units, -Og (faster here than -O0 and -O1), no debug information. A build
# with these options cannot be installed. README.md describes the build for installation.
quick_build=(-Doptimization=g -Ddebug=false -Dunity=on -Dunity_size=40)
programs=(src/app/{quarryd,quarry,quarry-courier,quarry-changes,quarry-replica} src/repository/libquarry-log-guard.so)

# configure FOLDER OPTION…: configures the build folder if it is not configured yet.
configure() {
  local folder=$1
  shift
  [ -f "$folder/build.ninja" ] || meson setup "$folder" "$@"
}

# build_package FOLDER: builds the Debian package in FOLDER, and checks it with lintian. Compiles with little
# optimization, which takes a third of the time.
build_package() {
  rm -rf "$1" && mkdir -p "$1/source" &&
    cp -r debian conf include man src tests meson.build meson_options.txt "$1/source" &&
    (cd "$1/source" &&
      PATH=/usr/lib/ccache:$PATH DEB_CXXFLAGS_STRIP='-O2 -g' DEB_CXXFLAGS_APPEND=-Og \
        DEB_BUILD_OPTIONS="noddebs parallel=$(nproc)" dpkg-buildpackage -b -uc -us) &&
    lintian --allow-root --fail-on error,warning "$1"/*.changes
}
