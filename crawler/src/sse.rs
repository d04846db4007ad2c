//! Server-sent events, as far as the protocol uses them: the data of each event, and its name.

/// An event with data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

/// Reads events from pieces of a stream. Bytes are bounded by whoever feeds it.
#[derive(Default)]
pub(crate) struct Events {
    buffer: Vec<u8>,
    data: Option<String>,
    name: Option<String>,
    /// A line end `\r` was last: a `\n` that follows belongs to it.
    after_return: bool,
    started: bool,
    /// Bytes that were not UTF-8.
    pub(crate) broken: bool,
}

impl Events {
    /// Takes in a piece; gives the events that end in it.
    pub(crate) fn feed(&mut self, piece: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for byte in piece {
            let after_return = std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    let line = std::mem::take(&mut self.buffer);
                    events.extend(self.line(&line));
                }
                byte => self.buffer.push(*byte),
            }
        }
        events
    }

    /// The event that the end of the stream cuts short, which lenient readers take.
    pub(crate) fn end(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.buffer);
        if !line.is_empty() {
            self.line(&line);
        }
        self.line(b"")
    }

    fn line(&mut self, line: &[u8]) -> Option<Event> {
        let first = !std::mem::replace(&mut self.started, true);
        let line = match line.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) if first => rest,
            _ => line,
        };
        if line.is_empty() {
            let name = self.name.take();
            let data = self.data.take().filter(|data| !data.is_empty());
            return data.map(|data| Event { name, data });
        }
        self.broken |= std::str::from_utf8(line).is_err();
        let text = String::from_utf8_lossy(line);
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "event" => self.name = Some(value.to_owned()),
            // Comments, ids and retry times are not ours to use.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_they_are_cut() {
        let stream = "\u{feff}: hello\r\nid: 1\r\ndata:\r\n\r\nevent: message\ndata: {\"a\":\ndata:1}\n\n\
                      retry: 3\rdata:x\r\rdata: é\n\ndata: cut";
        let expected = [
            (Some("message"), "{\"a\":\n1}"),
            (None, "x"),
            (None, "é"),
            (None, "cut"),
        ];
        for size in [1, 2, 3, 7, 1000] {
            let mut events = Events::default();
            let mut seen = Vec::new();
            for piece in stream.as_bytes().chunks(size) {
                seen.extend(events.feed(piece));
            }
            seen.extend(events.end());
            let seen: Vec<_> = seen
                .iter()
                .map(|e| (e.name.as_deref(), e.data.as_str()))
                .collect();
            assert_eq!(seen, expected, "in pieces of {size}");
            assert!(!events.broken);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_said() {
        let mut events = Events::default();
        assert_eq!(events.feed(b"data: \xff\n\n").len(), 1);
        assert!(events.broken);
    }
}
