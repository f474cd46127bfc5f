//! Finds the route of each request by prefix and counts the hits of each route, in several threads.
use std::sync::RwLock;
use std::thread;

struct Route {
    prefix: String,
    hits: u64,
}

struct Router {
    routes: RwLock<Vec<Route>>,
}

/// The number of the longest prefix of `path`.
fn longest_prefix(routes: &[Route], path: &str) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (number, route) in routes.iter().enumerate() {
        let longer = best.map_or(true, |b| routes[b].prefix.len() < route.prefix.len());
        if longer && path.starts_with(route.prefix.as_str()) {
            best = Some(number);
        }
    }
    best
}

impl Router {
    fn new(count: usize) -> Self {
        let routes = (0..count).map(|n| Route { prefix: format!("/api/v{}/{}", n % 7, n / 7), hits: 0 }).collect();
        Self { routes: RwLock::new(routes) }
    }

    fn dispatch(&self, path: &str) -> usize {
        let mut routes = self.routes.write().unwrap();
        let Some(number) = longest_prefix(&routes, path) else { return 0 };
        routes[number].hits += 1;
        number
    }
}

fn serve(router: &Router, requests: u32, mut state: u32) -> u64 {
    let mut sum = 0;
    for _ in 0..requests {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        let path = format!("/api/v{}/{}/item/{}", (state >> 28) % 7, state >> 20 & 255, state >> 8 & 4095);
        sum += router.dispatch(&path) as u64;
    }
    sum
}

fn main() {
    let requests = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(10_000);
    let router = Router::new(1800);
    let sum: u64 = thread::scope(|scope| {
        let workers: Vec<_> = (1..=3).map(|seed| scope.spawn({ let router = &router; move || serve(router, requests, seed) })).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    let hits = router.routes.into_inner().unwrap().iter().fold(sum, |s, r| s.wrapping_mul(31).wrapping_add(r.hits));
    println!("{hits:016x}");
}
