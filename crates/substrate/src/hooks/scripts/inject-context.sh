#!/bin/sh
# inject-context.sh: for the events SessionStart and SubagentStart. Logs the start, and says where the log is.
# Part of Substrate (substrate-hook). Not registered by itself: Substrate's own hooks do the same. You may edit this file.

lib="$(dirname "$0")/lib/hook-utils.sh"
[ -r "$lib" ] || exit 0
. "$lib"
parse_hook_input
[ -n "$SESSION_ID" ] || exit 0

case $HOOK_EVENT in
  SessionStart)
    write_session_start_jsonl
    log_event
    [ -d "$SESSION_LOG_DIR" ] || exit 0
    cat <<EOF
[SessionStart] session=${SESSION_ID}${AGENT_TYPE:+ type=${AGENT_TYPE}}
Log: logs/sessions/${SESSION_LOG_DIR##*/}/
EOF
    ;;
  SubagentStart)
    write_agent_start_jsonl
    log_event
    [ -d "$AGENT_LOG_DIR" ] || exit 0
    cat <<EOF
[SubagentStart] session=${SESSION_ID}${AGENT_ID:+ agent=${AGENT_ID}}${AGENT_TYPE:+ type=${AGENT_TYPE}}
Log: logs/sessions/${SESSION_LOG_DIR##*/}/${AGENT_LOG_DIR##*/}/
EOF
    ;;
esac
exit 0
