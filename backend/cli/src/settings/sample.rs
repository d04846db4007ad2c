//! The commented sample of the settings file, made from the declarations.

use std::fmt::Write as _;

use serde_json::Value;
use toolmark_domain::settings::Field;

use super::sections::Settings;

const HEAD: &str = "\
# Settings of Toolmark. Every line below is commented out and shows the default, or an example
# where a setting is unset by default. Flags win over the environment (TOOLMARK_SECTION__KEY),
# which wins over this file. Check with `toolmark config check`; see what is in force, and where
# it comes from, with `toolmark config show`.
#
# Made by `toolmark config show --sample`.
";

/// The text of the sample file.
pub(crate) fn sample() -> String {
    let mut out = HEAD.to_owned();
    for section in Settings::default().sections() {
        out.push('\n');
        comment(&mut out, section.doc());
        let _ = writeln!(out, "[{}]", section.name());
        for field in section.fields() {
            out.push('\n');
            comment(&mut out, field.doc);
            let _ = writeln!(out, "#{} = {}", field.key, shown(&field));
        }
    }
    out
}

fn comment(out: &mut String, lines: &[&str]) {
    for line in lines {
        let _ = writeln!(out, "#{line}");
    }
}

/// The default, or the example where it is unset or empty.
fn shown(field: &Field) -> String {
    match (&field.default, field.example) {
        (Value::Null, Some(example)) if field.expected.starts_with("a whole number") => example.to_owned(),
        (Value::Null, Some(example)) => Value::from(example).to_string(),
        (Value::Array(items), Some(example)) if items.is_empty() => example.to_owned(),
        (default, _) => default.to_string(),
    }
}
