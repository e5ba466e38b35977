#!/usr/bin/env bash
# Installs what is missing, builds locktidy, and runs all tests.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"
. scripts/common.sh

install_packages
build_locktidy

say "tests"
ctest --test-dir build --output-on-failure --no-tests=error -j 2 || die "tests failed (see above)"

# The fixture's programs, also under ThreadSanitizer, and what `fix` makes of them.
tests/fixtures_check.sh build/locktidy

say "all tests passed"
