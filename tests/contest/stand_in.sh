#!/bin/sh
# A stand-in for `lehi train` in contests: $1..: train --resume ... --out DIR. A step of muon takes twice, one of lion
# half the time of adamw's. The loss has its minimum at the rate 0.01 and the weight decay 0.25 and falls with the steps.
# lion diverges at the rate 0.1. The file "fail" has a pattern of run directories that fail, "stop" one of runs during
# which the contest is stopped.
here=$(dirname "$0")
for out; do :; done
echo "$out" >> "$here/started"
value() { sed -n "s/^$1 = //p" "$out/config.toml" | head -n 1 | tr -d '"'; }
matches() { test -f "$here/$1" && echo "$out" | grep -q -- "$(cat "$here/$1")"; }
if matches fail; then echo "lehi: no memory" >&2; exit 3; fi
if matches stop && mv "$here/stop" "$here/stopped" 2>/dev/null; then kill -TERM $PPID; sleep 0.2; exit 143; fi
name=$(value name); lr=$(value lr)
if test "$name" = lion && test "$lr" = 0.1; then
  cp "$here/diverged.json" "$out/run.json"; : > "$out/metrics.jsonl"; exit 4
fi
awk -v name="$name" -v lr="$lr" -v steps="$(value steps)" -v seed="$(value seed)" -v decay="$(value weight_decay)" \
    -v record="$here/done.json" -v out="$out" 'BEGIN {
  cost = name == "muon" ? 2 : name == "lion" ? 0.5 : 1
  speed = name == "muon" ? 3 : 1
  d = log(lr / 0.01) / log(10)
  loss = 1 + d * d + 100 / (speed * steps) + 0.001 * seed
  if (decay != 0.25) loss += 0.01
  while ((getline line < record) > 0) {
    gsub(/776001/, steps, line); gsub(/776002/, steps * cost * 0.001, line)
    print line > (out "/run.json")
  }
  printf "{\"step\":%d,\"test_loss\":%.17g,\"validation_loss\":%.17g}\n", steps, loss, loss + 0.5 > (out "/metrics.jsonl")
}'
