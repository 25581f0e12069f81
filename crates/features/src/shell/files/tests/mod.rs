//! Tests of what lines write and sweep away.

mod sweeps;
mod writes;
