//! Connections: accepted, limited, served, and let finish what they began.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::limits::Limits;

/// How long a TLS handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// After an error of the system nothing is accepted for a moment: most often there are no file descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until it is told to end; then finishes the requests that were begun, but waits no longer than this.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    limits: &Limits,
    mut ending: watch::Receiver<bool>,
) {
    let (connections, graceful) = (Arc::new(Semaphore::new(limits.connections)), Arc::new(GracefulShutdown::new()));
    let read_within = limits.read_within;
    loop {
        // Taken before accepting: beyond the limit clients wait in the queue of the system.
        let permit = tokio::select! {
            permit = connections.clone().acquire_owned() => permit,
            _ = ending.wait_for(|ending| *ending) => break,
        };
        let Ok(permit) = permit else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ending.wait_for(|ending| *ending) => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let (tls, router, watcher) = (tls.clone(), router.clone(), graceful.watcher());
                tokio::spawn(connection(stream, tls, router, read_within, permit, watcher));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    let Ok(graceful) = Arc::try_unwrap(graceful) else { return };
    if tokio::time::timeout(limits.end_within, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests were not finished in time, and were ended");
    }
}

type Watcher = hyper_util::server::graceful::Watcher;

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    read_within: Duration,
    permit: OwnedSemaphorePermit,
    watcher: Watcher,
) {
    let _ = stream.set_nodelay(true);
    match tls {
        None => talk(stream, router, read_within, watcher).await,
        Some(tls) => match tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await {
            Ok(Ok(stream)) => talk(stream, router, read_within, watcher).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        },
    }
    drop(permit);
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    read_within: Duration,
    watcher: Watcher,
) {
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(read_within)
        .serve_connection(TokioIo::new(stream), service);
    // A client that goes away is no error of ours.
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection has ended");
    }
}
