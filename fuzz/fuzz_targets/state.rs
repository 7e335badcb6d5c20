#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| consort_fuzz::state(data));

#[cfg(not(fuzzing))]
fn main() {}
