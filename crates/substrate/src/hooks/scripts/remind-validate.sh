#!/bin/sh
# remind-validate.sh: for the event SubagentStop, first phase. Reminds a subagent to check its work.
# Part of Substrate (substrate-hook). Not registered by itself: Substrate's own hooks do the same. You may edit this file.

lib="$(dirname "$0")/lib/hook-utils.sh"
[ -r "$lib" ] || exit 0
. "$lib"
parse_hook_input
[ "$STOP_HOOK_ACTIVE" = false ] || exit 0

write_agent_stop_jsonl
log_event
_substrate_reminder validate
exit 0
