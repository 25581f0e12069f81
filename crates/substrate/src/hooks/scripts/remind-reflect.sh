#!/bin/sh
# remind-reflect.sh: for the event Stop. Reminds the main agent to look back before it ends.
# Part of Substrate (substrate-hook). Not registered by itself: Substrate's own hooks do the same. You may edit this file.

lib="$(dirname "$0")/lib/hook-utils.sh"
[ -r "$lib" ] || exit 0
. "$lib"
parse_hook_input

log_event
# It was held in this turn already.
[ "$STOP_HOOK_ACTIVE" != true ] || exit 0
_substrate_reminder reflect
exit 0
