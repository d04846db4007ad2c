//! On which line of a file an issue is. The text was read as JSON already, so it is only walked along, never judged.

/// The line (from 1) of the value at `path`, or of the nearest one around it that exists.
pub(crate) fn line_of(text: &str, path: &str) -> usize {
    // Issues of the schema version name the field without its sign.
    let path = if path == "schema" { "$schema" } else { path };
    let mut scanner = Scanner {
        bytes: text.as_bytes(),
        at: 0,
    };
    let at = scanner.follow(path);
    // A place begins with a bracket, a quote or a plain word: always between characters.
    1 + text.get(..at).map_or(0, |before| before.matches('\n').count())
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Walks down `path`; gives the offset of the last place that exists.
    fn follow(&mut self, path: &str) -> usize {
        let mut path = path;
        self.space();
        let mut found = self.at;
        while !path.is_empty() {
            let Some((place, rest)) = self.step(path) else {
                break;
            };
            found = place;
            path = rest;
        }
        found
    }

    /// Goes to the member of the value here that `path` begins with.
    fn step<'p>(&mut self, path: &'p str) -> Option<(usize, &'p str)> {
        match self.peek()? {
            b'{' => self.enter_field(path),
            b'[' => self.enter_item(path),
            _ => None,
        }
    }

    fn enter_field<'p>(&mut self, path: &'p str) -> Option<(usize, &'p str)> {
        let path = path.strip_prefix('.').unwrap_or(path);
        self.at += 1;
        loop {
            self.space();
            if self.peek()? != b'"' {
                return None;
            }
            let place = self.at;
            let key = self.string();
            self.space();
            self.at += 1;
            self.space();
            let rest = path.as_bytes().strip_prefix(key).map(|_| &path[key.len()..]);
            if let Some(rest) = rest
                && (rest.is_empty() || rest.starts_with(['.', '[']))
            {
                return Some((place, rest));
            }
            self.value();
            self.space();
            if self.peek()? == b',' {
                self.at += 1;
            }
        }
    }

    fn enter_item<'p>(&mut self, path: &'p str) -> Option<(usize, &'p str)> {
        let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
        let index: usize = index.parse().ok()?;
        self.at += 1;
        for _ in 0..index {
            self.space();
            self.value();
            self.space();
            if self.peek()? != b',' {
                return None;
            }
            self.at += 1;
        }
        self.space();
        Some((self.at, rest))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Passes a string; gives what stands between its quotes.
    fn string(&mut self) -> &'a [u8] {
        let start = self.at + 1;
        self.at = start;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.at += 1;
                    return &self.bytes[start..self.at - 1];
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        &[]
    }

    /// Passes a value.
    fn value(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => {
                    self.string();
                    if depth == 0 {
                        return;
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth <= 1 => {
                    self.at += depth;
                    return;
                }
                b'}' | b']' => depth -= 1,
                b',' if depth == 0 => return,
                _ => {}
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
  "$schema": "x",
  "a": [1, {"b": "]}"},
    {
      "c": true
    }
  ],
  "_meta": {
    "com.example/x": {
      "é\"": [
        0
      ]
    }
  }
}"#;

    #[test]
    fn places_are_found_in_the_text() {
        for (path, line) in [
            ("", 1),
            ("schema", 2),
            ("a", 3),
            ("a[0]", 3),
            ("a[1].b", 3),
            ("a[2]", 4),
            ("a[2].c", 5),
            ("a[2].missing", 4),
            ("a[9]", 3),
            ("missing", 1),
            ("_meta.com.example/x", 9),
            ("_meta.com.example/x.é", 9),
            ("a.b.c", 3),
        ] {
            assert_eq!(line_of(TEXT, path), line, "{path}");
        }
    }

    #[test]
    fn broken_text_is_survived() {
        for end in 0..TEXT.len() {
            let cut = String::from_utf8_lossy(&TEXT.as_bytes()[..end]);
            assert!(line_of(&cut, "_meta.com.example/x[3].y") > 0);
            assert!(line_of(&cut, "a[7].c") > 0);
        }
    }
}
