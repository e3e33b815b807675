#!/bin/sh
# Counts the messages of a log without numbers and IDs, most frequent first.
set -eu

sed -e 's/0x[0-9a-fA-F]*/#/g' -e 's/[0-9a-fA-F]\{8,\}/#/g' -e 's/[0-9][0-9]*/#/g' "${1:?usage: kinds.sh <log>}" |
    sort | uniq -c | sort -rn | head -n "${2:-40}"
