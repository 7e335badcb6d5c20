//! Access control: roles, the tokens that have them, and the role that each request requires.

use crate::error::ApiError;
use crate::file::{self, FileError};
use crate::routes::web;
use axum::http::{HeaderMap, Method, StatusCode, header};
use core::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use subtle::ConstantTimeEq;

/// The greatest number of tokens in a file.
const TOKENS_MAX: usize = 64;

/// The shortest and the longest token, in characters. 16 random characters cannot be guessed.
const TOKEN_MIN: usize = 16;
const TOKEN_MAX: usize = 256;

/// What a token permits. Each role includes the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Read everything.
    Read,
    /// Use the group: locks, candidacies, tags, joining.
    Operate,
    /// Take things from others, and stop the agent.
    Admin,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Read => "read",
            Role::Operate => "operate",
            Role::Admin => "admin",
        })
    }
}

/// The role that each request other than `GET` requires; `GET` requires `read`.
const ROLES: &[(&str, &str, Role)] = &[
    ("POST", "/v1/join", Role::Operate),
    ("POST", "/v1/leave", Role::Admin),
    ("POST", "/v1/force-leave", Role::Admin),
    ("POST", "/v1/keys", Role::Admin),
    ("POST", "/v1/keys/{fingerprint}/use", Role::Admin),
    ("DELETE", "/v1/keys/{fingerprint}", Role::Admin),
    ("POST", "/v1/revocations", Role::Admin),
    ("POST", "/v1/event", Role::Operate),
    ("POST", "/v1/query", Role::Operate),
    ("PATCH", "/v1/tags", Role::Operate),
    ("PUT", "/v1/tags", Role::Operate),
    ("DELETE", "/v1/tags", Role::Operate),
    ("DELETE", "/v1/tags/{key}", Role::Operate),
    ("POST", "/v1/elections/{name}/campaign", Role::Operate),
    ("POST", "/v1/elections/{name}/attend", Role::Operate),
    ("POST", "/v1/elections/{name}/withdraw", Role::Operate),
    ("POST", "/v1/elections/{name}/resign", Role::Operate),
    ("POST", "/v1/elections/{name}/ended", Role::Operate),
    ("POST", "/v1/elections/{name}/forget", Role::Admin),
    ("POST", "/v1/locks/{name}", Role::Operate),
    ("POST", "/v1/locks/{name}/acquire", Role::Operate),
    ("POST", "/v1/locks/{name}/{request}/renew", Role::Operate),
    ("DELETE", "/v1/locks/{name}/{request}", Role::Operate),
    ("POST", "/v1/locks/{name}/break", Role::Admin),
];

/// The role that a request requires, by its method and the path of its route; `None` for the dashboard's files. A route
/// that is missing from the table requires `admin`.
pub(crate) fn role_of(method: &Method, route: &str) -> Option<Role> {
    if method == Method::GET || method == Method::HEAD {
        return (!web::is_file(route)).then_some(Role::Read);
    }
    let listed = ROLES
        .iter()
        .find(|(m, path, _)| *m == method.as_str() && *path == route);
    Some(listed.map_or(Role::Admin, |(_, _, role)| *role))
}

/// The table of roles, in Markdown.
pub(crate) fn reference() -> String {
    let of = |role: Role| -> String {
        let routes = ROLES.iter().filter(|(_, _, r)| *r == role);
        let routes = routes.map(|(method, path, _)| format!("`{method} {path}`"));
        routes.collect::<Vec<_>>().join(", ")
    };
    format!(
        "| role | may |\n|---|---|\n| `read` | every `GET` |\n| `operate` | also {} |\n| `admin` | also {}, and everything else |\n",
        of(Role::Operate),
        of(Role::Admin),
    )
}

/// Why a file of tokens is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// See [`FileError`](crate::FileError).
    #[error("tokens: {0}")]
    File(#[from] FileError),
    /// Correct the line.
    #[error(
        "tokens {path}, line {line}: write a role (read, operate or admin) and a token of {TOKEN_MIN} to {TOKEN_MAX} \
         printable characters without spaces, as `openssl rand -hex 32` makes them"
    )]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, counted from 1.
        line: usize,
    },
    /// Add a token, or remove some.
    #[error("tokens {path}: write 1 to {TOKENS_MAX} lines with a token")]
    Count {
        /// The file.
        path: PathBuf,
    },
}

/// Tokens and their roles.
struct Tokens(Vec<(Role, String)>);

impl Tokens {
    fn read(path: &Path) -> Result<Tokens, TokenError> {
        let text = file::read_secret(path)?;
        let mut tokens = Vec::new();
        for (no, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let token = parse(line).ok_or_else(|| TokenError::Line {
                path: path.to_owned(),
                line: no + 1,
            })?;
            tokens.push(token);
        }
        match tokens.len() {
            1..=TOKENS_MAX => Ok(Tokens(tokens)),
            _ => Err(TokenError::Count {
                path: path.to_owned(),
            }),
        }
    }

    /// The greatest role of a token. All tokens are compared, each in a time that does not depend on its content.
    fn role(&self, shown: &str) -> Option<Role> {
        let mut found = None;
        for (role, token) in &self.0 {
            if bool::from(token.as_bytes().ct_eq(shown.as_bytes())) {
                found = found.max(Some(*role));
            }
        }
        found
    }
}

fn parse(line: &str) -> Option<(Role, String)> {
    let (role, token) = match line.split_once([' ', '\t']) {
        None => (Role::Admin, line),
        Some(("read", token)) => (Role::Read, token.trim()),
        Some(("operate", token)) => (Role::Operate, token.trim()),
        Some(("admin", token)) => (Role::Admin, token.trim()),
        Some(_) => return None,
    };
    let good = (TOKEN_MIN..=TOKEN_MAX).contains(&token.len())
        && token.bytes().all(|b| b.is_ascii_graphic());
    good.then(|| (role, token.to_owned()))
}

/// The tokens that an agent accepts. Without a file of tokens every client may do everything. Clones share the tokens.
#[derive(Clone, Default)]
pub(crate) struct Access(Option<Arc<Shared>>);

struct Shared {
    path: PathBuf,
    tokens: RwLock<Tokens>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Tokens are never printed.
        let file = self.0.as_ref().map(|shared| &shared.path);
        f.debug_tuple("Access").field(&file).finish()
    }
}

impl Access {
    /// Reads the file of tokens, if there is one.
    pub(crate) fn open(path: Option<&Path>) -> Result<Access, TokenError> {
        let Some(path) = path else {
            return Ok(Access(None));
        };
        let tokens = RwLock::new(Tokens::read(path)?);
        let path = path.to_owned();
        Ok(Access(Some(Arc::new(Shared { path, tokens }))))
    }

    /// Reads the file again. On an error the tokens remain unchanged.
    pub(crate) fn reload(&self) -> Result<(), TokenError> {
        if let Some(shared) = &self.0 {
            let tokens = Tokens::read(&shared.path)?;
            *shared
                .tokens
                .write()
                .unwrap_or_else(PoisonError::into_inner) = tokens;
        }
        Ok(())
    }

    /// Whether tokens are required.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_some()
    }

    /// Checks whether the sender of `headers` has the role `needed`.
    pub(crate) fn check(&self, needed: Option<Role>, headers: &HeaderMap) -> Result<(), ApiError> {
        let (Some(shared), Some(needed)) = (&self.0, needed) else {
            return Ok(());
        };
        let shown = headers.get(header::AUTHORIZATION);
        let shown = shown.and_then(|value| value.to_str().ok());
        let shown = shown.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let tokens = shared.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let unauthorized = |message: &str| {
            let status = StatusCode::UNAUTHORIZED;
            Err(ApiError::new(status, "unauthorized", message))
        };
        match shown.map(|token| tokens.role(token)) {
            None => unauthorized("this agent asks for a token"),
            Some(None) => unauthorized("this agent does not know the token"),
            Some(Some(role)) if role < needed => {
                let message = format!("the token has the role {role}, and this takes {needed}");
                Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", message))
            }
            Some(Some(_)) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(text: &str) -> Result<Access, TokenError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        file::write_private(&path, text);
        Access::open(Some(&path))
    }

    fn ask(access: &Access, role: Role, authorization: &str) -> u16 {
        let mut headers = HeaderMap::new();
        if !authorization.is_empty() {
            headers.insert(header::AUTHORIZATION, authorization.parse().unwrap());
        }
        match access.check(Some(role), &headers) {
            Ok(()) => 200,
            Err(error) => error.status.as_u16(),
        }
    }

    #[test]
    fn a_token_allows_what_its_role_does() {
        let all = "# people\nread 0123456789abcdef-r\noperate\t0123456789abcdef-o\n\n0123456789abcdef-a\n";
        let access = access(all).unwrap();
        let with = |letter: &str| format!("Bearer 0123456789abcdef-{letter}");
        for (letter, allowed) in [("r", 1), ("o", 2), ("a", 3), ("x", 0), ("", 0), ("rr", 0)] {
            for (n, role) in [Role::Read, Role::Operate, Role::Admin]
                .into_iter()
                .enumerate()
            {
                let expected = match allowed {
                    0 => 401,
                    allowed if n < allowed => 200,
                    _ => 403,
                };
                assert_eq!(
                    ask(&access, role, &with(letter)),
                    expected,
                    "{letter} {role}"
                );
            }
        }
        for wrong in [
            "",
            "Bearer",
            "Basic 0123456789abcdef-a",
            "0123456789abcdef-a",
        ] {
            assert_eq!(ask(&access, Role::Read, wrong), 401, "{wrong}");
        }
        assert_eq!(
            ask(&access, Role::Admin, "bearer  0123456789abcdef-a "),
            200
        );
        assert!(access.check(None, &HeaderMap::new()).is_ok(), "the page");
        let open = Access::default();
        assert_eq!(ask(&open, Role::Admin, ""), 200);
        assert!(!format!("{access:?}").contains("0123"), "{access:?}");
    }

    #[test]
    fn tokens_that_are_short_or_of_an_unknown_role_are_refused() {
        for (text, said) in [
            ("", "1 to 64"),
            ("# nothing\n", "1 to 64"),
            ("admin short", "line 1"),
            ("\nroot 0123456789abcdef", "line 2"),
            ("admin 0123456789abcdef with spaces", "line 1"),
            ("0123456789abcd\u{fc}", "line 1"),
        ] {
            let error = access(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        let many = "admin 0123456789abcdef\n".repeat(65);
        assert!(access(&many).is_err());
        let long = format!("admin {}", "x".repeat(257));
        assert!(access(&long).is_err());
    }

    #[test]
    fn a_file_is_read_again_and_a_damaged_one_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens");
        file::write_private(&path, "0123456789abcdef-1");
        let access = Access::open(Some(&path)).unwrap();
        file::write_private(&path, "0123456789abcdef-2");
        assert_eq!(ask(&access, Role::Read, "Bearer 0123456789abcdef-2"), 401);
        access.reload().unwrap();
        assert_eq!(ask(&access, Role::Read, "Bearer 0123456789abcdef-2"), 200);
        assert_eq!(ask(&access, Role::Read, "Bearer 0123456789abcdef-1"), 401);
        file::write_private(&path, "");
        assert!(access.reload().is_err());
        assert_eq!(ask(&access, Role::Read, "Bearer 0123456789abcdef-2"), 200);
    }

    #[test]
    fn every_route_has_its_role() {
        let api = serde_json::to_value(crate::routes::openapi()).unwrap();
        let mut seen = 0;
        for (path, item) in api["paths"].as_object().unwrap() {
            for method in item.as_object().unwrap().keys() {
                let method = method.to_uppercase();
                if method == "GET" {
                    continue;
                }
                seen += 1;
                let listed = ROLES.iter().any(|(m, p, _)| *m == method && p == path);
                assert!(listed, "{method} {path} is not in the table of roles");
            }
        }
        assert_eq!(seen, ROLES.len(), "the table has routes that do not exist");
        assert_eq!(role_of(&Method::POST, "/lab"), Some(Role::Admin));
        assert_eq!(role_of(&Method::GET, "/v1/self"), Some(Role::Read));
        assert_eq!(role_of(&Method::GET, "/"), None);
    }
}
