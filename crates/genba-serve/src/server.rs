//! The server: sockets and HTTP.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use genba_case::Store;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderName};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

use crate::answer_content::{self, Answer};
use crate::request_access::{Head, Refused};
use crate::route::Route;
use crate::{Access, Pages};

/// Connections at once.
const MAX_CONNECTIONS: usize = 64;
/// Answers that are made at once: each takes a processor, and tens of megabytes for a large case.
const MAX_ANSWERS_AT_ONCE: usize = 2;
/// Time in which a request must have arrived.
const TIME_TO_ASK: Duration = Duration::from_secs(30);

/// What the server's own pages may do: run its script, ask it, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
/// Pages of cases have a policy of their own, which names their script by its hash; this one only adds to it.
const POLICY_OF_CASE_PAGES: &str =
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; connect-src 'none'";

/// Why the server cannot work.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ServeError(String);

/// A server that listens.
pub struct Server {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    access: Access,
}

impl Server {
    /// Listens on this port of loopback; 0 is any that is free.
    ///
    /// # Errors
    /// The port is taken.
    pub fn listen(port: u16) -> Result<Self, ServeError> {
        let failed = |error: std::io::Error| {
            ServeError(format!(
                "cannot listen on 127.0.0.1:{port}: {error}; --port 0 takes a free one"
            ))
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(MAX_ANSWERS_AT_ONCE)
            .build()
            .map_err(failed)?;
        let address = (Ipv4Addr::LOCALHOST, port);
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self {
            runtime,
            listener,
            access: Access::random(port),
        })
    }

    /// The link that opens the list of cases.
    #[must_use]
    pub fn link(&self) -> String {
        self.access.link()
    }

    /// Serves until SIGINT, SIGTERM or SIGHUP.
    ///
    /// # Errors
    /// Signals cannot be received.
    pub fn run(self, store: Store, pages: impl Pages) -> Result<(), ServeError> {
        let Self {
            runtime,
            listener,
            access,
        } = self;
        let site = Arc::new(Site {
            access,
            store,
            pages: Box::new(pages),
        });
        let served = runtime.block_on(async move {
            let listen = |kind| signal(kind).map_err(|error| ServeError(error.to_string()));
            let mut interrupt = listen(SignalKind::interrupt())?;
            let mut terminate = listen(SignalKind::terminate())?;
            let mut hangup = listen(SignalKind::hangup())?;
            tokio::select! {
                () = accept(listener, site) => {}
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            Ok(())
        });
        runtime.shutdown_background();
        served
    }
}

/// What is served, and to whom.
struct Site {
    access: Access,
    store: Store,
    pages: Box<dyn Pages>,
}

async fn accept(listener: TcpListener, site: Arc<Site>) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        // A connection that was given up already, or no file descriptor at the moment.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let site = Arc::clone(&site);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let site = Arc::clone(&site);
                async move { Ok::<_, Infallible>(respond(site, request).await) }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(TIME_TO_ASK)
                .max_buf_size(16 << 10)
                .serve_connection(TokioIo::new(stream), service);
            // The browser may go at any time.
            let _ = connection.await;
            drop(place);
        });
    }
}

async fn respond(site: Arc<Site>, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let is_head = request.method() == Method::HEAD;
    let answer = match checked(&site.access, &request) {
        Ok(route) => {
            let made = tokio::task::spawn_blocking(move || {
                answer_content::answer(&site.store, &*site.pages, &route)
            });
            made.await
                .unwrap_or_else(|_| Answer::failed(500, "this page cannot be made"))
        }
        Err(answer) => answer,
    };
    response(answer, is_head)
}

/// What an admitted request asks for.
fn checked(access: &Access, request: &Request<Incoming>) -> Result<Route, Answer> {
    let headers = request.headers();
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let hosts: Vec<&str> = (headers.get_all(header::HOST).iter())
        .map(|value| value.to_str().unwrap_or("?"))
        .collect();
    let head = Head {
        method: request.method().as_str(),
        path: request.uri().path(),
        hosts: &hosts,
        origin: text(header::ORIGIN),
        fetch_site: text(HeaderName::from_static("sec-fetch-site")),
    };
    // The address of a proxy's request stands in the first line as well.
    if request.uri().authority().is_some() {
        return Err(forbidden());
    }
    match access.check(&head) {
        Ok(path) => Route::of(path, request.uri().query())
            .ok_or_else(|| Answer::failed(404, "There is no such page.")),
        Err(Refused::Forbidden) => Err(forbidden()),
        Err(Refused::Method) => Err(Answer::failed(405, "This server only answers questions.")),
    }
}

fn forbidden() -> Answer {
    Answer::failed(
        403,
        "Open the link that genba case serve printed: it has the token of this server.",
    )
}

fn response(answer: Answer, is_head: bool) -> Response<Full<Bytes>> {
    let policy = match answer.is_case_page {
        true => POLICY_OF_CASE_PAGES,
        false => POLICY,
    };
    let body = match is_head {
        true => Bytes::new(),
        false => Bytes::from(answer.text),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = hyper::StatusCode::from_u16(answer.status).unwrap_or_default();
    let headers: &mut HeaderMap = response.headers_mut();
    let named = HeaderName::from_static;
    for (name, value) in [
        (header::CONTENT_TYPE, answer.media_type),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (named("cross-origin-resource-policy"), "same-origin"),
        (named("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    response
}
