#!/usr/bin/env bash
# Installs what is missing, builds locktidy, and checks the bundled RPC program with it.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
. scripts/common.sh

install_packages
build_locktidy locktidy

# The checker reads what the compiler would be told; the program itself need not be built.
say "compilation database of fixtures/rpc_lookup/before"
cmake -S fixtures/rpc_lookup/before -B build/try -G Ninja >/dev/null
command=(build/locktidy check -p build/try)
say "${command[*]}"
status=0
"${command[@]}" || status=$?
case $status in
  1) exit 0 ;; # findings: what this program is there for
  0) die "no finding, although fixtures/rpc_lookup/before has one" ;;
  *) die "locktidy ended with exit code $status" ;;
esac
