//! Who may read: requests with the token, to this address, from this origin. Pure.
//!
//! A page of another site can send requests to loopback, and, by DNS rebinding, read the answers under a name of its
//! own. The name in `Host` gives that away; the token is in no page of others.

/// Why a request is refused, as an HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The request is not for this server, not from its pages, or has no token.
    Forbidden,
    /// Only reading is allowed.
    Method,
}

/// What a request says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head<'a> {
    /// Method, as `GET`.
    pub method: &'a str,
    /// Path without the query.
    pub path: &'a str,
    /// Values of `Host`.
    pub hosts: &'a [&'a str],
    /// `Origin`.
    pub origin: Option<&'a str>,
    /// `Sec-Fetch-Site`.
    pub fetch_site: Option<&'a str>,
}

/// The token and the port of a server.
#[derive(Clone, Debug)]
pub struct Access {
    token: String,
    port: u16,
}

impl Access {
    /// Access to the server on this port by a token that nobody can guess.
    #[must_use]
    pub fn random(port: u16) -> Self {
        let token = format!("{:032x}", rand::random::<u128>());
        Self { token, port }
    }

    /// The link that opens the list of cases.
    #[must_use]
    pub fn link(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// The part of the path behind the token.
    ///
    /// # Errors
    /// The request is refused.
    pub fn check<'a>(&self, head: &Head<'a>) -> Result<&'a str, Refused> {
        let [host] = head.hosts else {
            return Err(Refused::Forbidden);
        };
        let own = |name: &str| {
            ["127.0.0.1", "localhost", "[::1]"]
                .iter()
                .any(|address| name == format!("{address}:{}", self.port))
        };
        let own_origin = head.origin.is_none_or(|origin| {
            origin
                .strip_prefix("http://")
                .is_some_and(|name| name == *host)
        });
        // `none`: the user opened the link.
        let own_site = head
            .fetch_site
            .is_none_or(|site| matches!(site, "none" | "same-origin"));
        if !own(host) || !own_origin || !own_site {
            return Err(Refused::Forbidden);
        }
        let (token, rest) = head
            .path
            .strip_prefix('/')
            .and_then(|path| path.split_once('/'))
            .ok_or(Refused::Forbidden)?;
        if !is_same(token.as_bytes(), self.token.as_bytes()) {
            return Err(Refused::Forbidden);
        }
        match head.method {
            "GET" | "HEAD" => Ok(rest),
            _ => Err(Refused::Method),
        }
    }
}

/// Whether two texts are the same, in a time that depends on their lengths alone.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access {
            token: "secret".to_owned(),
            port: 4000,
        }
    }

    fn check(change: impl FnOnce(&mut Head<'static>)) -> Result<&'static str, Refused> {
        let mut head = Head {
            method: "GET",
            path: "/secret/case/7f3a",
            hosts: &["127.0.0.1:4000"],
            origin: None,
            fetch_site: None,
        };
        change(&mut head);
        access().check(&head)
    }

    #[test]
    fn own_pages_and_the_link_are_answered() {
        assert_eq!(check(|_| ()), Ok("case/7f3a"));
        assert_eq!(
            check(|head| head.hosts = &["localhost:4000"]),
            Ok("case/7f3a")
        );
        assert_eq!(
            check(|head| head.fetch_site = Some("none")),
            Ok("case/7f3a")
        );
        let own = |head: &mut Head<'static>| {
            head.origin = Some("http://127.0.0.1:4000");
            head.fetch_site = Some("same-origin");
        };
        assert_eq!(check(own), Ok("case/7f3a"));
        assert_eq!(check(|head| head.path = "/secret/"), Ok(""));
    }

    #[test]
    fn rebound_names_foreign_origins_and_missing_tokens_are_refused() {
        for hosts in [
            &["evil.example:4000"][..],
            &["127.0.0.1"],
            &["127.0.0.1:4001"],
            &[],
            &["127.0.0.1:4000", "x"],
            &["127.0.0.1:4000.evil.example"],
            &["127.0.0.1:40001"],
        ] {
            assert_eq!(
                check(|head| head.hosts = hosts),
                Err(Refused::Forbidden),
                "{hosts:?}"
            );
        }
        for origin in [
            "http://evil.example",
            "null",
            "https://127.0.0.1:4000",
            "http://localhost:4000",
        ] {
            assert_eq!(
                check(|head| head.origin = Some(origin)),
                Err(Refused::Forbidden),
                "{origin}"
            );
        }
        for site in ["cross-site", "same-site", ""] {
            assert_eq!(
                check(|head| head.fetch_site = Some(site)),
                Err(Refused::Forbidden),
                "{site}"
            );
        }
        for path in [
            "/",
            "",
            "/secret",
            "/case/7f3a",
            "/Secret/",
            "/secret2/",
            "//secret/",
            "/secre/t/",
            "secret/",
        ] {
            assert_eq!(
                check(|head| head.path = path),
                Err(Refused::Forbidden),
                "{path}"
            );
        }
    }

    #[test]
    fn nothing_but_reading_is_allowed() {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get"] {
            assert_eq!(
                check(|head| head.method = method),
                Err(Refused::Method),
                "{method}"
            );
        }
    }

    #[test]
    fn tokens_are_long_and_differ() {
        let (one, other) = (Access::random(1), Access::random(1));
        assert_eq!(one.token.len(), 32);
        assert_ne!(one.token, other.token);
    }
}
