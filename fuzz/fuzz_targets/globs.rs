#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| substrate_fuzz::globs(data));
