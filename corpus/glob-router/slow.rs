//! A server's router: finds the handler of a request by method and path, without regard to case.

struct Route {
    method: &'static str,
    pattern: String,
    handler: u64,
}

/// Hash of method and path: letters in lower case, no slash at the end.
fn fingerprint(method: &str, path: &str) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325u64;
    for byte in method.bytes().chain(path.trim_end_matches('/').bytes()) {
        h = (h ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3);
    }
    h
}

struct Router {
    routes: Vec<Route>,
}

impl Router {
    fn new() -> Self {
        let mut routes = Vec::new();
        for (i, what) in ["users", "orders", "items", "carts", "search", "admin/audit"].iter().enumerate() {
            for (j, method) in ["GET", "POST", "PUT", "DELETE"].iter().enumerate() {
                let pattern = format!("/Api/v2/{what}");
                routes.push(Route { method, pattern, handler: (i * 4 + j) as u64 });
            }
        }
        Router { routes }
    }

    fn find(&self, method: &str, path: &str) -> Option<&Route> {
        let wanted = fingerprint(method, path);
        self.routes.iter().find(|route| {
            fingerprint(route.method, &route.pattern) == wanted
                && route.pattern.eq_ignore_ascii_case(path.trim_end_matches('/'))
        })
    }
}

fn requests(count: usize) -> Vec<(&'static str, String)> {
    let methods = ["GET", "GET", "POST", "PUT", "DELETE"];
    let paths = ["/api/v2/users/", "/api/v2/Orders", "/api/v2/items", "/api/v2/carts", "/api/v2/search", "/favicon.ico"];
    let mut state = 9u32;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let s = (state >> 16) as usize;
            (methods[s % 5], paths[s / 5 % 6].to_string())
        })
        .collect()
}

fn main() {
    let mut args = std::env::args().skip(1).map(|a| a.parse::<usize>().expect("a number"));
    let requests = requests(args.next().unwrap_or(1000));
    let router = Router::new();
    let (mut served, mut missed) = (0u64, 0u64);
    for _ in 0..args.next().unwrap_or(10) {
        for (method, path) in &requests {
            match router.find(method, path) {
                Some(route) => served = served.wrapping_mul(31).wrapping_add(route.handler),
                None => missed += 1,
            }
        }
    }
    println!("{served:016x} {missed}");
}
