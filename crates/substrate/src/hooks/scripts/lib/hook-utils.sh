# shellcheck shell=sh
# hook-utils.sh: what a hook was told, as shell variables; and the project's session logs. Part of Substrate
# (substrate-hook); for bash, dash and any other POSIX shell. docs/custom-hooks.md shows how to use it.
#
# Every function returns 0, also where Substrate is not installed: then the variables are empty, and nothing is written.

# Where Substrate is; the PATH is asked if it has moved.
_substrate=@SUBSTRATE@
[ -x "$_substrate" ] || _substrate=$(command -v substrate 2>/dev/null) || _substrate=

HOOK_EVENT='' SESSION_ID='' TRANSCRIPT_PATH='' CWD='' PERMISSION_MODE='' PROJECT_NAME='' SESSION_LOG_DIR=''
TRIGGER='' SOURCE='' MODEL='' REASON='' STOP_HOOK_ACTIVE=''
AGENT_ID='' AGENT_TYPE='' AGENT_LOG_DIR='' AGENT_TRANSCRIPT_PATH='' AGENT_START_TIME=''

# Reads the hook's input, and sets every variable.
parse_hook_input() {
  if [ ! -t 0 ]; then
    _substrate_input=$(cat) || _substrate_input=''
    [ -z "$_substrate_input" ] || HOOK_INPUT=$_substrate_input
  fi
  _substrate_fields all
}

# These look at $HOOK_INPUT, and set what is particular to one event.
parse_common() { _substrate_fields common; }
parse_setup() { _substrate_fields setup; }
parse_session_start() { _substrate_fields session-start; }
parse_subagent_start() { _substrate_fields subagent-start; }
parse_subagent_stop() { _substrate_fields subagent-stop; }
parse_stop() { _substrate_fields stop; }
parse_session_end() { _substrate_fields session-end; }

# The subagent's type and the time of its start, as its log has them.
read_agent_start() { _substrate_fields agent-started; }

# The folders $SESSION_LOG_DIR and $AGENT_LOG_DIR. The writers below make them by themselves.
ensure_session_dir() { _substrate_log ensure-session; }
ensure_agent_dir() { _substrate_log ensure-agent; }

# One line of JSON each; a line is whole even with other writers.
write_session_start_jsonl() { _substrate_log session-start; }
write_agent_start_jsonl() { _substrate_log agent-start; }
write_agent_stop_jsonl() { _substrate_log agent-stop; }
write_session_end_jsonl() { _substrate_log session-end; }

# log_event [WORDS...]: a line in the session's events.log.
log_event() { _substrate_log event "$@"; }

# What the project is given at Setup: its folders at `init`, a rotation of its logs at `maintenance`.
setup_project() { _substrate_log setup; }

_substrate_fields() {
  [ -n "$_substrate" ] || return 0
  eval "$(printf '%s' "${HOOK_INPUT-}" | "$_substrate" hook-fields "$1" || :)"
  return 0
}

_substrate_log() {
  [ -n "$_substrate" ] || return 0
  printf '%s' "${HOOK_INPUT-}" | "$_substrate" session-log "$@" || :
  return 0
}

# _substrate_reminder NAME: the reminder of that name, which may be none. Its words are in one place: the team's file, the
# settings, or Substrate.
_substrate_reminder() {
  [ -n "$_substrate" ] || return 0
  "$_substrate" reminders show "$1" ${AGENT_TYPE:+"--agent-type=$AGENT_TYPE"} ${CWD:+"--project-dir=$CWD"} \
    </dev/null 2>/dev/null || :
  return 0
}
