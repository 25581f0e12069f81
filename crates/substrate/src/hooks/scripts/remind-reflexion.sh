#!/bin/sh
# remind-reflexion.sh: for the event SubagentStop, second phase. Reminds a subagent to record what it learned.
# Part of Substrate (substrate-hook). Not registered by itself: Substrate's own hooks do the same. You may edit this file.

lib="$(dirname "$0")/lib/hook-utils.sh"
[ -r "$lib" ] || exit 0
. "$lib"
parse_hook_input
[ "$STOP_HOOK_ACTIVE" = true ] || exit 0

write_agent_stop_jsonl
log_event
_substrate_reminder reflexion <<'EOF'
If something went wrong on the way, run /reflexion to record it:
- Errors that had to be debugged
- Wrong assumptions that had to be corrected
- Missing dependencies, or behaviour that nobody expected
- Workarounds for what is not documented
Only what will matter again is worth recording.
EOF
exit 0
