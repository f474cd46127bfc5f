//! Requests to `genba case serve`: none is admitted without the token, and none reaches more than an id.
#![no_main]

use genba_serve::{Access, Head, Route};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.split('\n');
    let mut next = || lines.next();
    let (method, path, query) = (next().unwrap_or("GET"), next().unwrap_or("/"), next());
    let (origin, site) = (next(), next());
    let hosts: Vec<&str> = lines.collect();
    let head = Head {
        method,
        path,
        hosts: &hosts,
        origin,
        fetch_site: site,
    };
    // The token is random: nothing that is made up has it.
    assert!(Access::random(80).check(&head).is_err());
    if let Some(Route::Case(id) | Route::Profile(id) | Route::Events(id) | Route::Explorer(id) | Route::Function(id, _)) = Route::of(path, query) {
        assert!(id.bytes().all(|byte| byte.is_ascii_hexdigit()) && id.len() <= 32);
    }
});
