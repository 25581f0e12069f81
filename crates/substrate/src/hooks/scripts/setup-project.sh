#!/bin/sh
# setup-project.sh: for the event Setup. Makes the project's folders, or removes its old logs.
# Part of Substrate (substrate-hook). Not registered by itself: Substrate's own hooks do the same. You may edit this file.

lib="$(dirname "$0")/lib/hook-utils.sh"
[ -r "$lib" ] || exit 0
. "$lib"
parse_hook_input

logs=${SESSION_LOG_DIR:+"${SESSION_LOG_DIR%/*}"}
# What could not be made is no news.
logs=${logs:-"$CWD/logs/sessions"}

case $TRIGGER in
  init)
    setup_project
    [ -d "$logs" ] || exit 0
    cat <<EOF
[Setup:init] Project ${PROJECT_NAME} initialized
- Log directory: logs/sessions/
- Memory directory: .serena/memories/
EOF
    ;;
  maintenance)
    setup_project
    [ -d "$logs" ] || exit 0
    cat <<EOF
[Setup:maintenance] Project ${PROJECT_NAME} maintained
- Log directory: logs/sessions/ (old sessions are removed)
EOF
    ;;
  *) exit 0 ;;
esac
log_event
exit 0
