//! Connections: accepted, limited, served, and let finish what they began.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tower::ServiceExt;

use crate::http::connection_limit::{ConnectionLimiter, ConnectionLimits, ConnectionPermit};
use crate::http::health_listener::HealthListener;
use crate::http::peer::Peer;
use crate::http::tls::Tls;
use crate::http::write_timeout::{ClientTimeouts, TimeoutStream};
use crate::limits::ServerLimits;

/// Timeout of a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// After an error of the system nothing is accepted for a moment: most often there are no file descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// Threads that serve the connections of a listener.
#[derive(Clone)]
pub(crate) struct ServingThreads {
    /// Answers `/healthz` beforehand, where connections are not encrypted.
    pub(crate) health: Option<HealthListener>,
    /// The threads for everything else.
    pub(crate) runtime: Handle,
}

/// Serves until the end is signalled; then completes open requests, but waits at most for this time. A listener that
/// cannot be used is an error.
pub(crate) async fn serve(
    listener: std::net::TcpListener,
    tls: Option<Tls>,
    router: Router,
    by: ServingThreads,
    limits: &ServerLimits,
    mut ending: watch::Receiver<bool>,
) -> std::io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let most = ConnectionLimits {
        all: limits.connections,
        of_address: limits.connections_of_address,
        agents: limits.connections_waiting,
    };
    let (limiter, graceful) = (ConnectionLimiter::new(most), Arc::new(GracefulShutdown::new()));
    let (read_within, write_within) = (limits.read_within, limits.write_within);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ending.wait_for(|ending| *ending) => break,
        };
        match accepted {
            Ok((stream, from)) => {
                // One address, whether IPv4 or the same in IPv6.
                let address: IpAddr = from.ip().to_canonical();
                let Some(taken) = limiter.take(address) else {
                    tracing::debug!(%address, "connection refused: all other connections have requests in progress");
                    continue;
                };
                let tls = tls.clone();
                let (router, watcher) = (router.clone(), graceful.watcher());
                let timeouts = ClientTimeouts { read_within, write_within };
                let served = Connection { tls, router, timeouts, taken: Arc::new(taken), watcher };
                tokio::spawn(served.hand_over(stream, by.clone(), ending.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    let Ok(graceful) = Arc::try_unwrap(graceful) else { return Ok(()) };
    if tokio::time::timeout(limits.end_within, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in time and were aborted");
    }
    Ok(())
}

type Watcher = hyper_util::server::graceful::Watcher;

/// A connection that was accepted.
struct Connection {
    tls: Option<Tls>,
    router: Router,
    timeouts: ClientTimeouts,
    taken: Arc<ConnectionPermit>,
    watcher: Watcher,
}

impl Connection {
    /// Answers `/healthz`, and gives the connection to others when it brings something else.
    async fn hand_over(self, stream: TcpStream, by: ServingThreads, mut ending: watch::Receiver<bool>) {
        let _ = stream.set_nodelay(true);
        let stream = match by.health {
            None => Some(stream),
            Some(health) => tokio::select! {
                other = health.answer(stream, &self.taken, self.timeouts) => other,
                () = self.taken.closed() => None,
                _ = ending.wait_for(|ending| *ending) => None,
            },
        };
        // Each runtime waits for its own sockets.
        let Some(stream) = stream.and_then(|stream| stream.into_std().ok()) else { return };
        by.runtime.spawn(async move {
            if let Ok(stream) = TcpStream::from_std(stream) {
                self.serve(stream).await;
            }
        });
    }

    async fn serve(self, stream: TcpStream) {
        let Self { tls, router, timeouts, taken, watcher } = self;
        let stream = TimeoutStream::new(stream, timeouts.write_within);
        let served = async {
            match tls {
                None => serve_client(stream, router, timeouts, (&taken, None), watcher).await,
                Some(tls) => match tokio::time::timeout(HANDSHAKE, tls.in_use().acceptor.accept(stream)).await {
                    Ok(Ok(stream)) => {
                        let peer = Peer::of(&tls, stream.get_ref().1).map(Arc::new);
                        serve_client(stream, router, timeouts, (&taken, peer), watcher).await;
                    }
                    Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
                    Err(_) => tracing::debug!("a TLS handshake took too long"),
                },
            }
        };
        tokio::select! {
            () = served => {}
            () = taken.closed() => tracing::debug!("an idle connection was closed to accept a new one"),
        }
    }
}

async fn serve_client(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    timeouts: ClientTimeouts,
    (taken, peer): (&Arc<ConnectionPermit>, Option<Arc<Peer>>),
    watcher: Watcher,
) {
    let taken = taken.clone();
    let service = router.map_request(move |mut request: Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(Arc::new(taken.request()));
        if let Some(peer) = &peer {
            request.extensions_mut().insert(peer.clone());
        }
        request
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.read_within)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    // A client that disconnects is no error of the server.
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection has ended");
    }
}
