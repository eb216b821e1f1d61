#!/bin/sh
# Refreshes a ducklake-ivm project from cron or a systemd timer: one run at a time, a log, and an alert when a person is
# needed. See docs/guides/scheduling.md.
#
#   refresh.sh PROJECT [options of ducklake-ivm refresh …]
#
# Settings, from the environment:
#   IVM_COMMAND    how ducklake-ivm is started                       (ducklake-ivm)
#   IVM_LOG        a file that everything is appended to             (standard error)
#   IVM_LOCK       the lock's file                                   (PROJECT/.refresh.lock)
#   IVM_TRIES      how often a run is tried that met another writer  (5)
#   IVM_PAUSE      seconds between two tries                         (10)
#   IVM_ALERT      a command for the alert; it gets the exit code as its argument, the run's last lines on standard input
#
# Ends with the exit code of ducklake-ivm, and with 0 where a run before this one is still at work.
set -u

project=${1:?usage: refresh.sh PROJECT [options of ducklake-ivm refresh ...]}
shift
command=${IVM_COMMAND:-ducklake-ivm}
tries=${IVM_TRIES:-5}
if [ -n "${IVM_LOG:-}" ]; then
  exec >>"$IVM_LOG" 2>&1
else
  exec >&2
fi

say() {
  printf '%s refresh[%s] %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$$" "$*"
}

# The lock goes with the process that holds it, however that ends.
lock=${IVM_LOCK:-$project/.refresh.lock}
if ! exec 9>"$lock"; then
  say "can't write the lock $lock"
  exit 2
fi
if ! flock -n 9; then
  say "the run before this one is still at work: nothing done"
  exit 0
fi

output=$(mktemp) || exit 1
trap 'rm -f "$output"' EXIT

# A signal goes on to the run, which stops in order.
child=
# shellcheck disable=SC2329  # called by the trap
stop() {
  [ -z "$child" ] || kill -TERM "$child" 2>/dev/null
}
trap stop INT TERM

try=1
while :; do
  # Split into words on purpose: "npx ducklake-ivm" is a command too. The run does not hold the lock itself.
  # shellcheck disable=SC2086
  $command refresh --project-dir "$project" "$@" >"$output" 2>&1 9>&- &
  child=$!
  # A signal ends the first wait; the second one gets the run's own exit code.
  wait "$child"
  code=$?
  while kill -0 "$child" 2>/dev/null; do
    wait "$child"
    code=$?
  done
  child=
  cat "$output"
  [ "$code" -eq 75 ] && [ "$try" -lt "$tries" ] || break
  say "met another writer at try $try of $tries"
  try=$((try + 1))
  sleep "${IVM_PAUSE:-10}"
done

say "ended with exit code $code"
case $code in
# Fine, or stopped by somebody who knows.
0 | 130) ;;
*)
  if [ -n "${IVM_ALERT:-}" ]; then
    # shellcheck disable=SC2086
    tail -n 20 "$output" | $IVM_ALERT "$code" || say "the alert failed"
  fi
  ;;
esac
exit "$code"
