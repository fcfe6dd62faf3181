# What the project needs of Debian 12, and how it gets there. Sourced by quickstart and check.
# shellcheck shell=bash disable=SC2034

build_packages=(g++ meson ninja-build pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev libkainjow-mustache-dev doctest-dev
  libfcgi-dev libevent-dev libsqlite3-dev zlib1g-dev libdeflate-dev libssl-dev libdw-dev
  libacl1-dev libsystemd-dev libcurl4-openssl-dev libgmime-3.0-dev libarchive-dev libgit2-dev)
demo_packages=(fossil)
test_packages=(fossil nginx-light apache2-bin sqlite3 python3-pytest python3-pytest-xdist python3-pytest-timeout
  clang-format shellcheck
  procps acl util-linux bubblewrap prometheus openssl python3-aiosmtpd)
bench_packages=(wrk)
# The first clang in Debian 12 that has std::expected.
clang_packages=(clang-19 libclang-rt-19-dev clang-tidy-19)

# install_packages PACKAGE…: installs those that are missing, and says so. Does nothing else.
install_packages() {
  local package missing=() as_root=()
  if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
    echo "No apt-get on this system: going on with what is there. Needed are (Debian's names):"
    echo "  $*"
    return
  fi
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null)" = installed ] ||
      missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo > /dev/null; then
      echo "These packages are missing, and there is neither root nor sudo to install them:" >&2
      echo "  apt-get install ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "Installing with apt-get: ${missing[*]}"
  "${as_root[@]}" apt-get -q update > /dev/null
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install --no-install-recommends "${missing[@]}" > /dev/null
}
