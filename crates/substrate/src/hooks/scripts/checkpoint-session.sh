#!/bin/sh
# checkpoint-session.sh: for the event SessionEnd. Logs the end, its reason and how many subagents there were.
# Part of Substrate (substrate-hook). Not registered by itself: Substrate's own hooks do the same. You may edit this file.

lib="$(dirname "$0")/lib/hook-utils.sh"
[ -r "$lib" ] || exit 0
. "$lib"
parse_hook_input

write_session_end_jsonl
log_event
exit 0
