# A snapshot of nothing but empty objects no longer takes 600 bytes a value, wherever they are.
(ulimit -v 300000 && timeout 60 "$orrery" --version >/dev/null 2>&1) || exit 77 # a sanitizer takes more
values=$(awk 'BEGIN { for (i = 1; i < 600000; i++) printf "{}," }')
for form in '{"items":[%s{}]}' '[[%s{}]]' '[1,{"a":[%s{}]}]'; do
    # shellcheck disable=SC2059
    printf "$form" "$values" >bomb.json
    code=0
    (ulimit -v 300000 && timeout 60 "$orrery" schedule bomb.json >out 2>err) || code=$?
    [ $code -eq 65 ] || fail "exit code $code with $form"
    says 'bomb.json:1:'
done
{ printf -- '- [['; for _ in 1 2; do printf '%s' "$values"; done; printf '{}]]\n'; } >bomb.yaml
expect 65 "$orrery" schedule bomb.yaml
says 'bomb.yaml:1:2097153: a line of YAML is longer'
# places are those of the file as it is
printf '[{"kind": "Node", "metadata": {"name": "n"}},{"é": [[1],[{"kind":\n 2}, {"a": "\\"[{", "a": 1}]]}]' >place.json
expect 65 "$orrery" schedule place.json
says 'place.json:2:21: duplicate key "a" (first in line 2)'
printf '[{"é": [[1],[{"b": 1, "b": 2}]]}]' >place.json
expect 65 "$orrery" schedule place.json
says 'place.json:1:24: duplicate key "b" (first in line 1)'
