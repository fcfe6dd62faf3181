# Lists and installs the Debian 12 packages that the project needs. quickstart, check and .ci/run source this file.
# shellcheck shell=bash disable=SC2034

build_packages=(g++ meson ninja-build pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev libkainjow-mustache-dev doctest-dev
  libfcgi-dev libevent-dev libsqlite3-dev zlib1g-dev libdeflate-dev libssl-dev
  libacl1-dev libsystemd-dev libcurl4-openssl-dev libgmime-3.0-dev libarchive-dev libgit2-dev libnats-dev)
demo_packages=(fossil)
test_packages=(fossil nginx-light apache2 haproxy fail2ban sqlite3 python3-pytest python3-pytest-xdist python3-pytest-timeout
  clang-format shellcheck
  rsyslog rsyslog-openssl nats-server procps strace acl util-linux bubblewrap iproute2 curl prometheus openssl python3-aiosmtpd python3-prometheus-client
  chromium chromium-driver python3-selenium systemd-container zsh fish)
bench_packages=(wrk)
package_packages=(debhelper dpkg-dev fakeroot lintian mmdebstrap)
# clang-19 is the oldest clang in Debian 12 that supports std::expected.
clang_packages=(clang-19 libclang-rt-19-dev clang-tidy-19)

# install_packages PACKAGE…: lists and installs the missing packages.
install_packages() {
  local package missing=() as_root=()
  if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
    echo "apt-get is not available, so no packages are installed. Required packages (Debian names):"
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
      echo "These packages are missing; install them as root (sudo is not available):" >&2
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

# fetch_axe FOLDER: uses npm to download axe-core to FOLDER/axe.min.js, because Debian does not package it. Tests check
# the accessibility of pages with axe-core.
fetch_axe() {
  local version=4.14.1 sum=e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745
  [ ! -f "$1/axe.min.js" ] || return 0
  command -v npm > /dev/null || { echo "Cannot download axe-core: npm is not installed." >&2; return 1; }
  mkdir -p "$1"
  npm pack --silent --cache "$1/cache" --pack-destination "$1" "axe-core@$version" > /dev/null &&
    echo "$sum  $1/axe-core-$version.tgz" | sha256sum --check --quiet &&
    tar -xzf "$1/axe-core-$version.tgz" -C "$1" --strip-components=1 package/axe.min.js
}
