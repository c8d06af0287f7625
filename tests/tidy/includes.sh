#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# includes.sh SOURCE: core/ and policies/ include nothing but themselves, C and Random123; each room
# of core/ includes only rooms before it; every file starts with its licence.
set -eu
cd "$1"
bad=0
report() {
  if [ -n "$2" ]; then
    printf '%s:\n%s\n' "$1" "$2" >&2
    bad=1
  fi
}
strangers=$(git ls-files 2>/dev/null | cut -d / -f 1 | sort -u | grep -vxE \
  '\..*|CMakeLists\.txt|CMakePresets\.json|(README|CHANGELOG|CONTRIBUTING)\.md|LICENSE|core|policies|traces|sim|scenarios|analysis|tests' || true)
report 'does not belong at the top' "$strangers"
sources() { find "$@" -name '*.[ch]' | sort; }

allowed='<(orrery/(base|core)/[a-z_]+\.h|(errno|math|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|unistd)\.h|Random123/philox\.h|sanitizer/asan_interface\.h)>|"[a-z_]+\.h"'
report 'core/ includes what it must not know' \
  "$(sources core | xargs grep -nE '^# *include' | grep -vE "include +($allowed)" || true)"
report 'policies/ include what they must not know' \
  "$(sources policies | xargs grep -nE '^# *include' | grep -vE \
     "include +($allowed|<orrery/policies/[a-z_]+\.h>|\"\.\./(registry|lanes|walk)/[a-z_]+\.h\")" || true)"
report 'only base/ knows Random123, sanitizers and system calls' \
  "$(sources core policies | grep -v '^core/base/' |
     xargs grep -nE '<(Random123|sanitizer|unistd|errno)' || true)"
report 'order/ and prune/ read a session: they include nothing that changes it' \
  "$(sources core/order core/prune | xargs grep -nE '<orrery/core/(session_build|statement)\.h>' || true)"
report 'two structs of one name' \
  "$(sources core policies sim traces analysis | xargs sed -n 's/^struct \(orr_[a-z0-9_]*\) {.*/\1/p' | sort | uniq -d)"
report 'base/ includes core/' "$(sources core/base | xargs grep -n '<orrery/core/' || true)"

# Headers in the order of the rooms; each may include those before it.
before=' '
for header in quota share_kind numa_policy prune reason look cluster job queue share usage amounts task fit decision session_rules session session_build statement numa jobview defects queueorder rooms joborder backlog gpu_counts attempt victim \
  ledger fragment placer place param policy bar; do
  [ -f "core/include/orrery/core/$header.h" ] || continue
  for used in $(sed -n 's|^#include <orrery/core/\(.*\)\.h>.*|\1|p' "core/include/orrery/core/$header.h"); do
    case $before in
      *" $used "*) ;;
      *) report "core/$header.h includes a room after it" "$used.h" ;;
    esac
  done
  before="$before$header "
done
for header in core/include/orrery/core/*.h; do
  name=$(basename "$header" .h)
  case $before in
    *" $name "*) ;;
    *) report 'a header without a place in the order of rooms' "$header" ;;
  esac
done

report 'a public header that C++ and the shared library do not see: ORR_API_BEGIN, ORR_API_END' \
  "$(find core/include core/base/include policies/include -name '*.h' -not -name units.h | sort |
     xargs grep -cE '^ORR_API_(BEGIN|END)$' | grep -v ':2$' || true)"

report 'no licence on the first line' \
  "$(sources core policies tests/plugin traces/gen |
     xargs awk 'FNR == 1 && !/SPDX-License-Identifier: GPL-3.0-or-later/ { print FILENAME }')"
exit $bad
