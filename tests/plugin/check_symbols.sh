#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# check_symbols.sh MODULE: it exports its entry and needs nothing of the core at link time.
set -eu
command -v nm >/dev/null 2>&1 || exit 77
needed=$(nm -D --undefined-only "$1" | awk '{print $NF}' | grep '^orr_' || true)
if [ -n "$needed" ]; then
  echo "$1 needs: $needed" >&2
  exit 1
fi
nm -D --defined-only "$1" | awk '{print $NF}' | grep -qx orr_policy_entry
