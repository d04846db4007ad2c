//! Reads an answer's body under a cap. Gzip is unpacked here and not by the client below, so that both the bytes
//! received and the bytes they unpack to are counted.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::write::MultiGzDecoder;
use http::header;

use crate::caps::Caps;
use crate::error::Error;

/// The only encoding we ask for.
pub(crate) const ACCEPT_ENCODING: &str = "gzip";

/// Gzip unpacks at most about a thousandfold, so that one slice never makes more than about 1 MiB at once.
const SLICE_BYTES: usize = 1024;

/// Reads the whole body.
pub(crate) async fn read(mut response: reqwest::Response, host: &str, caps: &Caps) -> Result<Bytes, Error> {
    let mut sink = Sink::new(&response, host, caps)?;
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => sink.push(&chunk)?,
            Ok(None) => return sink.finish(),
            Err(error) => {
                return Err(Error::Dropped {
                    host: host.to_owned(),
                    received: sink.received,
                    source: Box::new(error.without_url()),
                });
            }
        }
    }
}

enum Packing {
    Plain(Vec<u8>),
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
}

struct Sink<'a> {
    host: &'a str,
    caps: &'a Caps,
    packing: Packing,
    received: usize,
}

impl<'a> Sink<'a> {
    fn new(response: &reqwest::Response, host: &'a str, caps: &'a Caps) -> Result<Self, Error> {
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
            host,
            caps,
            packing: if gzip {
                Packing::Gzip(Box::new(MultiGzDecoder::new(Vec::new())))
            } else {
                Packing::Plain(Vec::new())
            },
            received: 0,
        };
        if usize::try_from(announced).is_ok_and(|announced| announced <= caps.body_bytes) {
            Ok(sink)
        } else {
            Err(sink.too_large())
        }
    }

    fn too_large(&self) -> Error {
        Error::TooLarge {
            host: self.host.to_owned(),
            limit: self.caps.body_bytes,
        }
    }

    fn push(&mut self, chunk: &[u8]) -> Result<(), Error> {
        for slice in chunk.chunks(SLICE_BYTES) {
            self.received += slice.len();
            let unpacked = match &mut self.packing {
                Packing::Plain(out) => {
                    out.extend_from_slice(slice);
                    out.len()
                }
                Packing::Gzip(decoder) => {
                    // `flush` moves what the decoder still holds into our buffer, so that it is counted now.
                    let done = decoder.write_all(slice).and_then(|()| decoder.flush());
                    if let Err(source) = done {
                        return Err(corrupt(self.host, source));
                    }
                    decoder.get_ref().len()
                }
            };
            if unpacked > self.caps.body_bytes {
                return Err(self.too_large());
            }
            let allowed = self.received.saturating_mul(self.caps.expansion);
            if unpacked > Caps::EXPANSION_FREE_BYTES && unpacked > allowed {
                return Err(Error::Expands {
                    host: self.host.to_owned(),
                    limit: self.caps.expansion,
                });
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<Bytes, Error> {
        let body = match self.packing {
            Packing::Plain(out) => out,
            // An empty body may be announced as gzip (an answer to HEAD, a 304).
            Packing::Gzip(_) if self.received == 0 => Vec::new(),
            Packing::Gzip(decoder) => decoder.finish().map_err(|source| corrupt(self.host, source))?,
        };
        if body.len() > self.caps.body_bytes {
            return Err(Error::TooLarge {
                host: self.host.to_owned(),
                limit: self.caps.body_bytes,
            });
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
