# Shared by try.sh, test.sh and tests/fixtures_check.sh: messages, packages, the build.
# Sourced, not run. Callers set -euo pipefail and stand in the top folder of the checkout.

PACKAGES=(
  clang-22 llvm-22-dev libclang-22-dev libclang-cpp22-dev libclang-rt-22-dev
  g++ cmake ninja-build ccache git
  nlohmann-json3-dev libcli11-dev libssl-dev libzstd-dev pkg-config libgtest-dev libgmock-dev
)

say() { printf '\n==> %s\n' "$*"; }

die() {
  printf '\nerror: %s\n' "$1" >&2
  shift
  local line
  for line in "$@"; do printf '       %s\n' "$line" >&2; done
  exit 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

missing_packages() {
  local package
  for package in "${PACKAGES[@]}"; do
    # The && list must not end the script when the package is there.
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
      printf '%s\n' "$package"
    fi
  done
}

apt_knows() {
  local package
  for package in "$@"; do
    apt-cache show --no-all-versions "$package" >/dev/null 2>&1 || return 1
  done
}

apt_install() {
  as_root apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
}

# Installs what is missing; asks apt for nothing if nothing is.
install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    die "this script installs its packages with apt, and there is no apt here" \
      "needed: ${PACKAGES[*]}" \
      "With them in place: cmake --preset release && cmake --build build"
  fi
  local missing
  mapfile -t missing < <(missing_packages)
  if [ "${#missing[@]}" -eq 0 ]; then
    say "packages: all there"
    return
  fi
  say "packages: installing ${missing[*]}"
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    die "installing needs root, and there is no sudo here; run as root:" \
      "apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  fi
  if apt_knows "${missing[@]}" && apt_install "${missing[@]}"; then return; fi
  # Package lists that are missing or too old.
  as_root apt-get -o DPkg::Lock::Timeout=300 update ||
    die "apt-get update failed (see above); is the network reachable?"
  local package
  for package in "${missing[@]}"; do
    apt_knows "$package" || die "apt does not know the package $package" \
      "LLVM 22 comes with Debian 12's security updates; apt's sources need a line like" \
      "  deb http://security.debian.org/debian-security bookworm-security main"
  done
  apt_install "${missing[@]}" || die "apt-get install failed (see above)"
}

# As many jobs as there are CPUs, but no more than memory allows (2 GB each).
jobs_for_this_machine() {
  local cpus memory_kb by_memory
  cpus=$(nproc)
  memory_kb=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
  by_memory=$((${memory_kb:-0} / 2000000))
  [ "$by_memory" -ge 1 ] || by_memory=1
  echo $((cpus < by_memory ? cpus : by_memory))
}

# Configures Release in build/ and builds the targets given, or everything.
build_locktidy() {
  local jobs
  jobs=$(jobs_for_this_machine)
  say "build: Release in build/, $jobs at a time"
  cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release ||
    die "cmake could not configure build/ (see above)" \
      "If build/ comes from another place or generator: rm -rf build, and try again"
  local targets=()
  [ "$#" -eq 0 ] || targets=(--target "$@")
  cmake --build build -j "$jobs" "${targets[@]}" || die "the build failed (see above)"
}
