# SPDX-License-Identifier: Apache-2.0
# The daemon's client commands, without a daemon: wrong usage, addresses, tokens, job files; and
# messages if there is no answer.
. tests/cli/lib.sh
unset POLLUX_SERVER POLLUX_TOKEN_FILE
export POLLUX_STATE=$tmp/state HOME=$tmp
mkdir -m 700 "$POLLUX_STATE"
esc=$(printf '\033')

# Nothing listens on port 1 of this machine.
closed_port=127.0.0.1:1

# ---- No answer -------------------------------------------------------------------------------

while read -r words; do
    # shellcheck disable=SC2086
    run pollux $words --server $closed_port
    expect "no answer: $words" status=3 out= err~"^pollux ${words%% *}: no answer from '$closed_port' \(.*\); is polluxd running\? start it with "
done <<'END'
list
list --quiet
show a
logs a
logs -f a
logs --all a
explain a
cancel a b
scale a --max 2
nodes
nodes up n0:2
nodes gone n0
drain n0
drain n0 --leaving 60
groups
cost
cost --csv
resume n0
events
events -f
status
token list
token new ann
token revoke ann
top --once
END
run pollux submit --server $closed_port -- true
expect "no answer: submit" status=3 out= err~'is polluxd running'

# ---- Addresses -------------------------------------------------------------------------------

for address in '' 'ftp://x' 'http://' 'http://ann@host' 'http://host?x' 'unix:relative' 'a b' "x$esc" /x \
    "$(printf 'x%.0s' {1..300})" "unix:/$(printf 'x%.0s' {1..200})"; do
    run pollux status --server "$address"
    expect "an invalid address: ${address:0:20}" status=2 out= err~'^pollux status: address ' err!"$esc"
done
POLLUX_SERVER=$closed_port run pollux status
expect "the address in the environment" status=3 err~"no answer from '$closed_port'"
POLLUX_SERVER=nonsense:x:y run pollux status --server $closed_port
expect "the option overrides the environment" status=3 err~"no answer from '$closed_port'"
echo 127.0.0.1:2 >"$POLLUX_STATE/address"
run pollux status
expect "the address that the daemon wrote" status=3 err~"no answer from '127.0.0.1:2'"
run pollux status --server "unix:$tmp/no.sock"
expect "a missing socket" status=3 err~"no answer from 'unix:"
http_proxy=http://127.0.0.1:3 all_proxy=http://127.0.0.1:3 run pollux status --server $closed_port
expect "no proxy is used" status=3 err~'port 1 '
for address in 127.0.0.9 http://127.0.0.9/; do
    run pollux status --server $address
    expect "without a port, the default one: $address" status=3 err~"no answer from '$address'.* port 7467 "
done
run pollux status --server '[::1]:1'
expect "a port after an address in brackets" status=3 err!7467

# ---- Tokens ----------------------------------------------------------------------------------

POLLUX_TOKEN_FILE=$tmp/none run pollux status --server $closed_port
expect "a missing token file" status=2 out= err~"^pollux status: POLLUX_TOKEN_FILE: .*/none: cannot read: No such file"
printf 'two words\n' >"$tmp/bad"
POLLUX_TOKEN_FILE=$tmp/bad run pollux status --server $closed_port
expect "a file that contains no token" status=2 err~'does not contain a token' err!'two words'
: >"$tmp/bad"
POLLUX_TOKEN_FILE=$tmp/bad run pollux status --server $closed_port
expect "an empty token file" status=2 err~'expected one line'
echo secret >"$tmp/open"
chmod 644 "$tmp/open"
POLLUX_TOKEN_FILE=$tmp/open run pollux status --server $closed_port
expect "a token that others can read" status=3 out= \
    err~'^pollux: warning: POLLUX_TOKEN_FILE: .*/open can be read by others \(mode 0644\); chmod 600' err!secret
chmod 600 "$tmp/open"
POLLUX_TOKEN_FILE=$tmp/open run pollux status --server $closed_port
expect "a token that others cannot read" status=3 err!warning

# ---- Usage -----------------------------------------------------------------------------------

while IFS='|' read -r words text; do
    # shellcheck disable=SC2086
    run pollux $words
    expect "refused: $words" status=2 out= err~"^pollux ${words%% *}: .*$text"
done <<'END'
list x|unexpected argument 'x'
list --phase=runing|--phase: expected pending, running, .* got 'runing'
list --phase=running,|--phase: expected
list --watch=0|--watch: expected a number from 0.1
list --watch 0|--watch: expected a number from 0.1
list --watch x|unexpected argument 'x'
show|expected JOB
show a b|unexpected argument 'b'
logs|expected JOB
logs a --rank=-1|--rank: expected an integer from 0
logs a --generation=0|--generation: expected an integer from 1
logs a --all --generation=1|--all and --generation: give one of them
logs a --tail=x|--tail: expected
cancel|expected JOB
scale a|expected --min, --max or --weight
scale --max 0 a|--max: expected an integer from 1
scale --weight 0 a|--weight: expected a number
drain|expected NODE
resume a b|unexpected argument 'b'
events x|unexpected argument
events --after=-1|--after: expected
token|expected 'new NAME', 'list' or 'revoke NAME'
token make x|expected 'new NAME'
token new|expected 'new NAME'
token list x|expected 'new NAME'
token list --role admin|--role is for 'pollux token new'
token list --expires 1d|--expires is for 'pollux token new'
token revoke x --expires 1d|--expires is for 'pollux token new'
token new x --expires 30|--expires: expected a time such as 30d, 12h, 90m or 60s, at most 3650d, got '30'
token new x --expires d|--expires: expected a time
token new x --expires=|--expires: expected a time
token new x --expires 0d|--expires: expected a time
token new x --expires=-1d|--expires: expected a time
token new x --expires 1.5h|--expires: expected a time
token new x --expires 2w|--expires: expected a time
token new x --expires 3651d|--expires: expected a time
token new x --expires 99999999999s|--expires: expected a time
token new x --expires 99999999999999999999d|--expires: expected a time
token new x --role root|--role: expected user, read-only or admin, got 'root'
top x|unexpected argument
top --interval=0|--interval: expected
END
run pollux top --server $closed_port </dev/null
expect "top without a terminal" status=2 out= err~"not a terminal; 'pollux list --watch'"

# ---- Jobs, checked before they are sent ------------------------------------------------------

run pollux submit
expect "submit: nothing" status=2 out= err~'expected FILE.yaml, SCRIPT.py or -- COMMAND'
run pollux submit --
expect "submit: no command" status=2 out= err~'expected FILE.yaml, SCRIPT.py or -- COMMAND'
run pollux submit "$tmp/nosuch.yaml"
expect "submit: no file" status=2 out= err~"no such file; put a command after '--'"
run pollux submit a b
expect "submit: two files" status=2 out= err~"unexpected argument 'b': put a command after '--'"

dry() { run pollux submit --dry-run "$@"; }
dry -- echo --name x
expect "a command keeps its options" status=0 err=
check "one replica, not preemptible" jq -e '.command == ["echo", "--name", "x"] and .max_replicas == 1 and
    .preemptible == false and (.name | not) and .environment == {}' <<<"$out"
check "it runs in the current directory" jq -e --arg here "$PWD" '.directory == $here' <<<"$out"
SEED=7 dry --name a --min 1 --max 8 --allowed pow2 --weight 2 --adaptive --launcher mpi --directory /x \
    --checkpoint-dir ck --env SEED --env A==b --stop-signal SIGUSR1 --grace 5 --max-failures 0 --backoff 1.5 -- a
expect "all options" status=0 err=
check "all options, as fields" jq -e --arg ck "$PWD/ck" '.name == "a" and .min_replicas == 1 and .max_replicas == 8
    and .allowed == "pow2" and .weight == 2 and .adaptive and .preemptible and .launcher == "mpi"
    and .directory == "/x" and .checkpoint_dir == $ck and .environment == {SEED: "7", A: "=b"}
    and .stop_signal == 10 and .grace == 5 and .max_failures == 0 and .backoff == 1.5' <<<"$out"
dry --replicas 3 --allowed 3,6 --no-preemptible --fixed-batch 64 -- a
expect "more options" status=0 err=
check "more options, as fields" jq -e '.min_replicas == 3 and .max_replicas == 3 and .fixed_replicas == 3
    and .allowed == [3, 6] and (.preemptible | not) and .fixed_batch == 64' <<<"$out"
dry --allowed multiple_of:4 --max 8 -- a
check "multiples" jq -e '.allowed == {multiple_of: 4} and .preemptible' <<<"$out"

cat >"$tmp/job.yaml" <<'END'
name: resnet
command: python3 train.py   # for the shell
environment: {A: 1, B: two}
max_replicas: 4
END
dry "$tmp/job.yaml"
expect "a file" status=0 err=
check "a file's fields" jq -e '.name == "resnet" and .command == ["/bin/sh", "-c", "python3 train.py"] and
    .environment == {A: "1", B: "two"} and .max_replicas == 4 and .preemptible' <<<"$out"
dry --max 2 --env B=three "$tmp/job.yaml" -- echo hi
expect "options over a file" status=0 err=
check "options override the file, variables are merged" jq -e '.name == "resnet" and .command == ["echo", "hi"] and
    .max_replicas == 2 and .environment == {A: "1", B: "three"}' <<<"$out"
pollux submit --dry-run "$tmp/job.yaml" >"$tmp/job.json"
dry "$tmp/job.json"
check "what --dry-run prints is a job file" diff <(echo "$out") "$tmp/job.json"

# A Python script, by its name or its first line, with the python3 of this PATH.
mkdir -p "$tmp/venv/bin" "$tmp/project"
ln -s /bin/true "$tmp/venv/bin/python3"
echo 'print(1)' >"$tmp/project/train.py"
printf '#!/usr/bin/env python3\nprint(1)\n' >"$tmp/project/train"
printf '#!/bin/sh\n# python\n' >"$tmp/project/other"
script() { (cd "$tmp/project" && PATH=relative:$tmp/venv/bin:$PATH "$root/$POLLUX" submit --dry-run "$@"); }
root=$PWD
[[ $POLLUX != /* ]] || root=
run script train.py
expect "a script" status=0 err=
check "a script is adaptive, and uses this Python" jq -e --arg at "$tmp" '.adaptive and .preemptible and .launcher == "env" and
    .command == [$at + "/venv/bin/python3", $at + "/project/train.py"] and .directory == $at + "/project" and
    (.name | not) and .max_replicas > 1000' <<<"$out"
run script ./train.py --max 2 --no-adaptive --launcher mpi -- --lr 0.1 -- x
expect "a script with options and arguments" status=0 err=
check "options override the defaults, arguments follow" jq -e --arg at "$tmp" '(.adaptive | not) and .max_replicas == 2 and .launcher == "mpi"
    and .command == [$at + "/venv/bin/python3", $at + "/project/train.py", "--lr", "0.1", "--", "x"]' <<<"$out"
run script train --directory /x
expect "a script recognised by its first line" status=0 err=
check "its path is absolute in any directory" jq -e --arg at "$tmp" '.directory == "/x" and
    .command[1] == $at + "/project/train" and .adaptive' <<<"$out"
PYTHONPATH=/some/modules run script train.py
check "PYTHONPATH is passed on" jq -e '.environment == {"PYTHONPATH": "/some/modules"}' <<<"$out"
PYTHONPATH=/some/modules run script --env PYTHONPATH=/others --env A=1 train.py
check "PYTHONPATH as an option overrides it" jq -e '.environment == {"PYTHONPATH": "/others", "A": "1"}' <<<"$out"
run script --fixed-batch 64 train.py
check "a fixed batch is not adapted" jq -e '.fixed_batch == 64 and (.adaptive | not)' <<<"$out"
run script other
expect "a script of another language is not a Python script" status=2 err~'other:'
run script train.py --lr 1
expect "an option of the script" status=2 out= err~"unknown option '--lr'.*; put options of 'train.py' after '--'"
run script train.py 1
expect "an argument of the script" status=2 out= err~"unexpected argument '1': put arguments of a script after '--'"
run script nosuch.py
expect "no such script" status=2 out= err~'nosuch.py: no such file$'
run script ../project.py
expect "no such script, in another directory" status=2 out= err~'project.py: no such file$'
mkdir "$tmp/project/folder.py" "$tmp/none"
run script folder.py
expect "a folder is not a script" status=2 out= err~'folder.py: no such file$'
run env PATH="$tmp/none" "$root/$POLLUX" submit --dry-run "$tmp/project/train.py"
expect "no Python here" status=2 out= err~'no python3 on PATH here; name one'

cat >"$tmp/bad.yaml" <<'END'
name: a b
comand: x
max_replicas: 0
END
dry "$tmp/bad.yaml"
expect "all mistakes of a file at once, with their lines" status=2 out= err~'bad.yaml:1:[0-9]+: name: ' \
    err~"bad.yaml:2:1: comand: .*did you mean 'command'" err~'bad.yaml:3:[0-9]+: max_replicas: ' err~'command: expected'
for words in "--min 3 --max 2" "--stop-signal NONE" "--name a/b" "--name .." "--launcher x" "--allowed 0" "--allowed x" \
    "--allowed 1,,2" "--min -1" "--max x" "--weight 0" "--env NOT_SET_HERE" "--env =x" "--env POLLUX_JOB=x" \
    "--env RANK=1" "--grace -1" "--adaptive --fixed-batch 3"; do
    # shellcheck disable=SC2086
    dry $words -- true
    expect "refused: submit $words" status=2 out= err~'^pollux submit: '
done
dry --name "$esc" -- true
expect "no escape sequence of a name reaches the terminal" status=2 err!"$esc"
