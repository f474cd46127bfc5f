//! Plans of campaigns, and what they come to.
#![no_main]

use std::path::Path;

use genba_campaign::parse_plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = parse_plan(text, "plan.toml", "plan", Path::new("/plan"));
});
