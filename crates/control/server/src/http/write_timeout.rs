//! A connection with a write timeout: a client that reads nothing for this time is disconnected.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Time limits for slow clients.
#[derive(Clone, Copy)]
pub(crate) struct ClientTimeouts {
    pub(crate) read_within: Duration,
    pub(crate) write_within: Duration,
}

/// A stream with a time-out for writing.
pub(crate) struct TimeoutStream<S> {
    stream: S,
    timeouts: Duration,
    /// Since nothing could be written.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<S> TimeoutStream<S> {
    /// Creates a connection whose writes fail when the client has read nothing for `timeouts`.
    pub(crate) fn new(stream: S, timeouts: Duration) -> Self {
        Self { stream, timeouts, stuck: None }
    }

    /// Passes the result of a write on, unless the client has read nothing for too long.
    fn judge<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let timeouts = self.timeouts;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(timeouts)));
        match stuck.as_mut().poll(cx) {
            Poll::Ready(()) => {
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read its response")))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.judge(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.judge(cx, shut)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_with_a_client_that_does_not_read_is_closed() {
        let (client, server) = duplex(64);
        let mut patient = TimeoutStream::new(server, Duration::from_secs(30));
        let error = patient.write_all(&[0; 1000]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(client);

        let (mut client, server) = duplex(64);
        let mut patient = TimeoutStream::new(server, Duration::from_secs(30));
        // 10 B every 20 s: slow, and never stuck for 30 s.
        let reads = tokio::spawn(async move {
            let mut buffer = [0; 10];
            let mut count = 0;
            while let Ok(read @ 1..) = client.read(&mut buffer).await {
                count += read;
                tokio::time::sleep(Duration::from_secs(20)).await;
            }
            count
        });
        patient.write_all(&[0; 1000]).await.unwrap();
        drop(patient);
        assert_eq!(reads.await.unwrap(), 1000);
    }
}
