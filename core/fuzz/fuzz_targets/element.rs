#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wikianchor_fuzz::element(data));
