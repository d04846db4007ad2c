//! Patterns of names: `*` stands for any characters, also none; everything else for itself. Case counts.

/// Whether `text` fits `pattern`. Time grows with the product of their lengths at worst.
pub fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    // Where the last star stands, and how much of the text it holds.
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p, t));
            p += 1;
        } else if pattern.get(p) == Some(&text[t]) {
            p += 1;
            t += 1;
        } else if let Some((at, held)) = star {
            star = Some((at, held + 1));
            p = at + 1;
            t = held + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// What stands before the first star: every text that fits begins with it.
pub fn head(pattern: &str) -> &str {
    pattern.split('*').next().unwrap_or_default()
}

/// What stands after the last star: every text that fits ends with it.
pub fn tail(pattern: &str) -> &str {
    pattern.rsplit('*').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_star_is_anything_and_the_rest_itself() {
        for (pattern, text, fit) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("io.github.*", "io.github.me", true),
            ("io.github.*", "io.github", false),
            ("*.example", "com.example", true),
            ("com.*.tools", "com.a.b.tools", true),
            ("com.*.tools", "com.tools", false),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("**", "x", true),
            ("Com", "com", false),
        ] {
            assert_eq!(fits(pattern, text), fit, "{pattern} {text}");
        }
    }

    proptest! {
        #[test]
        fn a_text_fits_itself_with_any_part_replaced_by_a_star(text in "[a-c.]{0,12}", from in 0usize..13, to in 0usize..13) {
            let (from, to) = (from.min(text.len()), to.min(text.len()));
            let (from, to) = (from.min(to), from.max(to));
            let pattern = format!("{}*{}", &text[..from], &text[to..]);
            prop_assert!(fits(&pattern, &text));
            prop_assert!(text.starts_with(head(&pattern)));
            prop_assert!(text.ends_with(tail(&pattern)));
        }
    }
}
