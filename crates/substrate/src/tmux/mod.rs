//! Colours of tmux panes and tabs. What must be restored is kept in the tmux server itself, as options of the changed
//! pane and window. So it survives us, and goes when they go.

mod hooks;
mod paint;
mod painter;
mod server;

pub(crate) use hooks::{hook, hooked, serves, unhook};
pub(crate) use paint::{is_on, restore_all, switch};
pub(crate) use painter::Painter;
pub(crate) use server::{Server, TmuxError};
