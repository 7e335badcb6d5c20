//! Serves the connections of the HTTP interface, with limits on their number and on the time that each may take.
//!
//! A connection is *idle* while none of its requests is complete and being answered: before its first request, between
//! two requests, and while the head or the body of a request arrives. If there are too many connections, the one that
//! has been idle for longest is closed. So connections that are opened and left alone, or fed slowly, never keep others
//! out. Streams and requests that are being answered stay open.

mod patient;
mod seats;

pub(crate) use seats::Seat;
use seats::Seats;

use crate::listen::Listener;
use crate::metrics::Meters;
use crate::tls::Tls;
use axum::Router;
use core::future::Future;
use core::time::Duration;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use patient::Patient;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The greatest number of bytes of a request's head.
const HEAD_MAX: usize = 32 << 10;

/// The pause after the system failed to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const BUSY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// The limits for clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The greatest number of connections.
    pub(crate) connections: usize,
    /// The time limit for the head of a request, for its body, and for reading the answer, each; also for an idle
    /// connection.
    pub(crate) timeout: Duration,
}

/// Serves until `stopped`, then until open requests are answered. Dropping the future closes all connections.
pub(crate) async fn serve(
    listener: Listener,
    router: Router,
    limits: Limits,
    tls: Option<Tls>,
    meters: Arc<Meters>,
    stopped: impl Future<Output = ()>,
) {
    let seats = Arc::new(Seats::new(limits.connections, meters));
    let (stop, stopping) = watch::channel(false);
    let mut tasks = JoinSet::new();
    tokio::pin!(stopped);
    loop {
        let accepted = tokio::select! {
            () = &mut stopped => break,
            Some(_) = tasks.join_next() => continue,
            accepted = accept(&listener) => accepted,
        };
        let stream = match accepted {
            Ok(stream) => stream,
            Err(error) if is_of_peer(&error) => continue,
            Err(error) => {
                tracing::warn!("cannot accept HTTP connections: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Some(seat) = seats.take().await else {
            if tls.is_none() {
                stream.refuse();
            }
            continue;
        };
        let (router, stopping) = (router.clone(), stopping.clone());
        let tls = tls.clone();
        tasks.spawn(async move {
            match stream {
                Stream::Tcp(tcp) => match tls {
                    None => connection(tcp, router, limits, seat, stopping).await,
                    Some(tls) => secured(tcp, &tls, router, limits, seat, stopping).await,
                },
                Stream::Unix(unix) => connection(unix, router, limits, seat, stopping).await,
            }
        });
    }
    drop(listener);
    stop.send_replace(true);
    while tasks.join_next().await.is_some() {}
}

/// An accepted connection.
enum Stream {
    Tcp(tokio::net::TcpStream),
    Unix(tokio::net::UnixStream),
}

impl Stream {
    /// Reports that there are too many connections, if that is possible without waiting.
    fn refuse(&self) {
        let _ = match self {
            Stream::Tcp(tcp) => tcp.try_write(BUSY),
            Stream::Unix(unix) => unix.try_write(BUSY),
        };
    }
}

async fn accept(listener: &Listener) -> io::Result<Stream> {
    match listener {
        Listener::Tcp(listener) => {
            let (tcp, _) = listener.accept().await?;
            // Events are small and must not be delayed.
            if let Err(error) = tcp.set_nodelay(true) {
                tracing::debug!("a connection may be slow: {error}");
            }
            Ok(Stream::Tcp(tcp))
        }
        Listener::Unix { listener, .. } => Ok(Stream::Unix(listener.accept().await?.0)),
    }
}

/// The client is already gone, which says nothing about the next one.
fn is_of_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionRefused | ConnectionAborted | ConnectionReset
    )
}

/// Serves a connection with TLS. A handshake takes a seat like a request whose head arrives slowly: it has the same time
/// limit, and is ended to make room for others.
async fn secured(
    tcp: tokio::net::TcpStream,
    tls: &Tls,
    router: Router,
    limits: Limits,
    seat: Seat,
    mut stopping: watch::Receiver<bool>,
) {
    let handshake = tokio::time::timeout(limits.timeout, tls.acceptor().accept(tcp));
    let secured = tokio::select! {
        shaken = handshake => shaken,
        () = seat.made_room() => return,
        _ = stopping.changed() => return,
    };
    match secured {
        Ok(Ok(stream)) => connection(stream, router, limits, seat, stopping).await,
        Ok(Err(error)) => tracing::debug!("a TLS handshake failed: {error}"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

async fn connection<S>(
    stream: S,
    router: Router,
    limits: Limits,
    seat: Seat,
    mut stopping: watch::Receiver<bool>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let seat = Arc::new(seat);
    let service = TowerToHyperService::new(router);
    let shared = Arc::clone(&seat);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(Arc::clone(&shared));
        service.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.timeout)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(Patient::new(stream, limits.timeout)), service);
    tokio::pin!(connection);
    let mut told = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!("an HTTP connection ended: {error}");
                }
                return;
            }
            () = seat.made_room() => return,
            _ = stopping.changed(), if !told => {
                told = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}
