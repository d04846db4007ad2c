//! Reads an answer's body under a cap. Gzip is unpacked here and not by the client below, so that both the bytes
//! received and the bytes they unpack to are counted. A download is handed on piece by piece and never unpacked: what is
//! hashed is what was sent.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http::header;

use crate::caps::Caps;
use crate::error::Error;

/// The only encoding we ask for.
pub(crate) const ACCEPT_ENCODING: &str = "gzip";
/// What a download asks for.
pub(crate) const ACCEPT_AS_IT_IS: &str = "identity";

/// Takes the bytes of a download as they come.
pub trait Receive: Send {
    /// An attempt begins: whatever was taken before is void.
    fn restart(&mut self) -> io::Result<()>;
    /// The next piece.
    fn take(&mut self, piece: &[u8]) -> io::Result<()>;
}

/// Gzip unpacks at most about a thousandfold, so that one slice never makes more than about 1 MiB at once.
const SLICE_BYTES: usize = 1024;

/// A body on its way in.
pub(crate) struct Body {
    response: reqwest::Response,
    sink: Sink,
}

impl Body {
    pub(crate) fn new(response: reqwest::Response, host: &str, caps: &Caps) -> Result<Self, Error> {
        let sink = Sink::new(&response, host, caps)?;
        Ok(Self { response, sink })
    }

    /// An error when it is not as it was sent for: packed, although nobody asked.
    pub(crate) fn plain(&self) -> Result<(), Error> {
        match self.sink.packing {
            Packing::Plain(_) => Ok(()),
            Packing::Gzip(_) => Err(Error::Encoding {
                host: self.sink.host.clone(),
                encoding: "gzip".to_owned(),
            }),
        }
    }

    /// Reads the whole of it.
    pub(crate) async fn rest(mut self) -> Result<Bytes, Error> {
        while self.receive().await? {}
        self.sink.finish()
    }

    /// The next bytes, unpacked and never empty; none at the end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            let more = self.receive().await?;
            let unpacked = if more {
                self.sink.take()
            } else {
                std::mem::replace(&mut self.sink, Sink::ended()).finish()?
            };
            if !unpacked.is_empty() {
                return Ok(Some(unpacked));
            }
            if !more {
                return Ok(None);
            }
        }
    }

    /// Whether there was more to receive.
    async fn receive(&mut self) -> Result<bool, Error> {
        match self.response.chunk().await {
            Ok(Some(chunk)) => self.sink.push(&chunk).map(|()| true),
            Ok(None) => Ok(false),
            Err(error) => Err(Error::Dropped {
                host: self.sink.host.clone(),
                received: self.sink.received,
                source: Box::new(error.without_url()),
            }),
        }
    }
}

enum Packing {
    Plain(Vec<u8>),
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

struct Sink {
    host: String,
    /// [`Caps::body_bytes`]
    limit: usize,
    /// [`Caps::expansion`]
    expansion: usize,
    packing: Packing,
    received: usize,
    /// Unpacked bytes already handed on.
    taken: usize,
}

impl Sink {
    fn new(response: &reqwest::Response, host: &str, caps: &Caps) -> Result<Self, Error> {
        let encoding = response
            .headers()
            .get(header::CONTENT_ENCODING)
            .map_or("identity", |value| value.to_str().unwrap_or("unreadable"))
            .trim();
        let gzip = encoding.eq_ignore_ascii_case("gzip") || encoding.eq_ignore_ascii_case("x-gzip");
        if !gzip && !encoding.eq_ignore_ascii_case("identity") {
            return Err(Error::Encoding {
                host: host.to_owned(),
                encoding: encoding.chars().take(32).collect(),
            });
        }
        let announced = response.content_length().unwrap_or(0);
        let sink = Self {
            host: host.to_owned(),
            limit: caps.body_bytes,
            expansion: caps.expansion,
            packing: if gzip {
                Packing::Gzip(Box::new(MultiGzDecoder::new(Vec::new())))
            } else {
                Packing::Plain(Vec::new())
            },
            received: 0,
            taken: 0,
        };
        if usize::try_from(announced).is_ok_and(|announced| announced <= caps.body_bytes) {
            Ok(sink)
        } else {
            Err(sink.too_large())
        }
    }

    /// What stands in for one that was read to its end.
    fn ended() -> Self {
        Self {
            host: String::new(),
            limit: 0,
            expansion: 0,
            packing: Packing::Plain(Vec::new()),
            received: 0,
            taken: 0,
        }
    }

    fn too_large(&self) -> Error {
        Error::TooLarge {
            host: self.host.clone(),
            limit: self.limit,
        }
    }

    fn push(&mut self, chunk: &[u8]) -> Result<(), Error> {
        for slice in chunk.chunks(SLICE_BYTES) {
            self.received += slice.len();
            let waiting = match &mut self.packing {
                Packing::Plain(out) => {
                    out.extend_from_slice(slice);
                    out.len()
                }
                Packing::Gzip(decoder) => {
                    // `flush` moves what the decoder still holds into our buffer, so that it is counted now.
                    let done = decoder.write_all(slice).and_then(|()| decoder.flush());
                    if let Err(source) = done {
                        return Err(corrupt(&self.host, source));
                    }
                    decoder.get_ref().len()
                }
            };
            let unpacked = self.taken + waiting;
            if unpacked > self.limit {
                return Err(self.too_large());
            }
            let allowed = self.received.saturating_mul(self.expansion);
            if unpacked > Caps::EXPANSION_FREE_BYTES && unpacked > allowed {
                return Err(Error::Expands {
                    host: self.host.clone(),
                    limit: self.expansion,
                });
            }
        }
        Ok(())
    }

    /// Hands on what is unpacked so far.
    fn take(&mut self) -> Bytes {
        let out = match &mut self.packing {
            Packing::Plain(out) => out,
            Packing::Gzip(decoder) => decoder.get_mut(),
        };
        self.taken += out.len();
        std::mem::take(out).into()
    }

    fn finish(self) -> Result<Bytes, Error> {
        let (limit, taken) = (self.limit, self.taken);
        let host = self.host;
        let body = match self.packing {
            Packing::Plain(out) => out,
            // An empty body may be announced as gzip (an answer to HEAD, a 304).
            Packing::Gzip(_) if self.received == 0 => Vec::new(),
            Packing::Gzip(decoder) => decoder.finish().map_err(|source| corrupt(&host, source))?,
        };
        if body.len() > limit.saturating_sub(taken) {
            return Err(Error::TooLarge { host, limit });
        }
        Ok(body.into())
    }
}

fn corrupt(host: &str, source: io::Error) -> Error {
    Error::Corrupt {
        host: host.to_owned(),
        source,
    }
}
