//! Test environments.
