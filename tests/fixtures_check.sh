#!/usr/bin/env bash
# Checks the fixtures from both ends: the programs before/ and after/ build and pass their tests, those of
# rpc_lookup also under ThreadSanitizer; and `locktidy fix` turns one into the other.
#
#   tests/fixtures_check.sh LOCKTIDY         everything, with this binary
#   tests/fixtures_check.sh --programs-only  only the programs
set -euo pipefail
if [ "$#" -ne 1 ]; then
  echo "usage: $0 LOCKTIDY | --programs-only" >&2
  exit 2
fi
tool=$1
[ "$tool" = --programs-only ] || tool=$(readlink -f "$tool")
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/common.sh

fixture=$PWD/fixtures/rpc_lookup
builds=$PWD/build/fixtures
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ---- the programs -------------------------------------------------------------------------------

# Whether a program with ThreadSanitizer starts here, and what must stand before its command: on
# kernels with very random addresses it needs `setarch -R`, which some containers forbid.
tsan_runner() {
  local compiler=$1
  echo 'int main() { return 0; }' >"$work/probe.cpp"
  "$compiler" -fsanitize=thread "$work/probe.cpp" -o "$work/probe" || return 1
  if "$work/probe" 2>/dev/null; then
    echo env
  elif setarch -R "$work/probe" 2>/dev/null; then
    echo "setarch -R"
  else
    return 1
  fi
}

# build_and_test NAME RUNNER COMPILER FLAGS
build_and_test() {
  local name=$1 runner=$2 compiler=$3 flags=$4 side
  for side in before after; do
    say "$fixture_name/$side: $name"
    cmake -S "$fixture/$side" -B "$builds/$name-$side" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
      -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" \
      -DCMAKE_CXX_FLAGS="$flags" >/dev/null
    # The build runs the test program once, to list its tests.
    $runner cmake --build "$builds/$name-$side" -j "$jobs" >"$work/build.log" 2>&1 || {
      cat "$work/build.log"
      die "$name build of $side/ failed"
    }
    $runner ctest --test-dir "$builds/$name-$side" --output-on-failure --no-tests=error \
      -j "$jobs" >"$work/test.log" 2>&1 || {
      cat "$work/test.log"
      die "$name tests of $side/ failed"
    }
    grep 'tests passed' "$work/test.log"
    $runner "$builds/$name-$side/rpc_bench" --seconds 1 --threads 3 --handlers 1 --churn-ms 1 \
      >"$work/bench.log" 2>&1 || {
      cat "$work/bench.log"
      die "$name rpc_bench of $side/ failed"
    }
    grep 'requests per second' "$work/bench.log"
  done
}

fixture_name=fixtures/rpc_lookup
jobs=$(jobs_for_this_machine)
skipped=()
build_and_test plain env g++ ""
for compiler in g++ clang++-22; do
  if runner=$(tsan_runner "$compiler"); then
    build_and_test "tsan-$compiler" "$runner" "$compiler" "-fsanitize=thread"
  else
    skipped+=("ThreadSanitizer of $compiler")
  fi
done

# ---- check and fix ------------------------------------------------------------------------------

# json FILE KEY…: one value out of a JSON file. json_length: the length of an array.
json() { json_get GET "$@"; }
json_length() { json_get LENGTH "$@"; }
json_get() {
  cat >"$work/json.cmake" <<'EOF'
file(READ "${FILE}" text)
string(JSON value ${HOW} "${text}" ${KEYS})
execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${value}")
EOF
  local how=$1 file=$2 keys
  shift 2
  keys=$(IFS=';' && echo "$*")
  cmake -DHOW="$how" -DFILE="$file" -DKEYS="$keys" -P "$work/json.cmake"
}

# expect WHAT WANTED GOT
expect() { [ "$2" = "$3" ] || die "$1: expected '$2', got '$3'"; }

# run WANTED-EXIT-CODE ARGS…: locktidy, from a folder of its own.
run() {
  local wanted=$1 status=0
  shift
  (cd "$work/cwd" && "$tool" "$@") >"$work/out.log" 2>&1 || status=$?
  [ "$status" -eq "$wanted" ] || {
    cat "$work/out.log"
    die "locktidy $*: expected exit code $wanted, got $status"
  }
}

if [ "$tool" != --programs-only ]; then
  say "$fixture_name: check and fix"
  mkdir "$work/cwd"
  cp -R "$fixture/before" "$work/program"
  cmake -S "$work/program" -B "$work/build" -G Ninja >/dev/null

  # The two sides differ in one line; that is where the finding must be.
  line=$(cmp "$fixture/before/src/rpc/messenger.cpp" "$fixture/after/src/rpc/messenger.cpp" |
    sed 's/.* line //' || true)
  run 1 check -p "$work/build" -o json="$work/before.json"
  expect "findings in before/" 1 "$(json_length "$work/before.json" findings)"
  expect "rule" exclusive-lock-on-read "$(json "$work/before.json" findings 0 rule)"
  expect "safety" safe "$(json "$work/before.json" findings 0 safety)"
  case "$(json "$work/before.json" findings 0 location file)" in
    */src/rpc/messenger.cpp | src/rpc/messenger.cpp) ;;
    *) die "the finding is not in src/rpc/messenger.cpp" "$(cat "$work/before.json")" ;;
  esac
  expect "line" "$line" "$(json "$work/before.json" findings 0 location line)"

  run 0 fix -p "$work/build"
  diff -r "$work/program" "$fixture/after" || die "locktidy fix did not make before/ into after/"
  run 0 fix -p "$work/build"
  diff -r "$work/program" "$fixture/after" || die "a second locktidy fix changed something"
  run 0 check -p "$work/build" -o json="$work/after.json"
  expect "findings in after/" 0 "$(json_length "$work/after.json" findings)"
fi

# ---- visitor_counter: one edit makes the lock shared and the counter atomic ----------------------

counter=$PWD/fixtures/visitor_counter
for side in actor before after; do
  say "fixtures/visitor_counter/$side: plain"
  cmake -S "$counter/$side" -B "$builds/counter-$side" -G Ninja -DCMAKE_CXX_COMPILER=g++ \
    -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" >/dev/null
  cmake --build "$builds/counter-$side" -j "$jobs" >"$work/build.log" 2>&1 || {
    cat "$work/build.log"
    die "build of visitor_counter/$side failed"
  }
  ctest --test-dir "$builds/counter-$side" --output-on-failure --no-tests=error -j "$jobs" >"$work/test.log" 2>&1 || {
    cat "$work/test.log"
    die "tests of visitor_counter/$side failed"
  }
  grep 'tests passed' "$work/test.log"
done
if [ "$tool" != --programs-only ]; then
  say "fixtures/visitor_counter: check and fix"
  cp -R "$counter/before" "$work/counter"
  cmake -S "$work/counter" -B "$work/counter-build" -G Ninja >/dev/null
  run 1 check -p "$work/counter-build" -o json="$work/counter.json"
  expect "findings in before/" 2 "$(json_length "$work/counter.json" findings)"
  run 0 fix --unsafe -p "$work/counter-build"
  diff -r "$work/counter" "$counter/after" || die "locktidy fix did not make before/ into after/"
  run 0 fix --unsafe -p "$work/counter-build"
  diff -r "$work/counter" "$counter/after" || die "a second locktidy fix changed something"
fi

say "fixtures: all good"
if [ "${#skipped[@]}" -gt 0 ]; then
  printf 'skipped, does not start on this machine: %s\n' "${skipped[@]}"
fi
