//! What a setting is: a typed field with a default and a sentence of documentation, declared once with
//! [`settings!`](crate::settings!) in the crate that uses it.
//!
//! Reading files, environment and flags is the program's; here is only what a value may look like.

use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};

pub use serde_json::Value;
use url::Url;

/// One setting as `config show` and the sample file need it.
#[derive(Clone, Debug)]
pub struct Field {
    /// The name within its section.
    pub key: &'static str,
    /// The doc comment, line by line.
    pub doc: &'static [&'static str],
    /// What a value has to be, in words.
    pub expected: &'static str,
    /// Whether the value is never printed.
    pub secret: bool,
    /// The default; null when the setting is unset by default.
    pub default: Value,
    /// A value for the sample file, where the default is unset.
    pub example: Option<&'static str>,
}

/// A value as it was given: typed in a file, text in the environment and in flags.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    Typed(&'a Value),
    Text(&'a str),
}

/// Why a value was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    #[error("no such setting")]
    Unknown,
    #[error("expected {0}")]
    IllTyped(&'static str),
}

/// A group of settings: one table of the settings file.
pub trait Section {
    /// The name of the table.
    fn name(&self) -> &'static str;
    /// What the group is about, line by line.
    fn doc(&self) -> &'static [&'static str];
    /// The settings of the group, in the order of their declaration.
    fn fields(&self) -> Vec<Field>;
    /// Replaces one value.
    fn set(&mut self, key: &str, given: Given<'_>) -> Result<(), SetError>;
    /// One value; null when it is unset or there is no such setting.
    fn get(&self, key: &str) -> Value;
}

/// A type a setting can have.
pub trait Setting: Sized {
    /// What a value has to be, in words: "expected {EXPECTED}".
    const EXPECTED: &'static str;

    /// Reads a typed value.
    fn from_value(value: &Value) -> Option<Self>;

    /// Reads a value written as text.
    fn from_text(text: &str) -> Option<Self>;

    /// The value as JSON; null when it is unset.
    fn to_value(&self) -> Value;

    /// Reads a value as it was given.
    fn read(given: Given<'_>) -> Result<Self, SetError> {
        match given {
            Given::Typed(value) => Self::from_value(value),
            Given::Text(text) => Self::from_text(text),
        }
        .ok_or(SetError::IllTyped(Self::EXPECTED))
    }
}

impl Setting for bool {
    const EXPECTED: &'static str = "true or false";

    fn from_value(value: &Value) -> Option<Self> {
        value.as_bool()
    }

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn to_value(&self) -> Value {
        Value::from(*self)
    }
}

impl Setting for String {
    const EXPECTED: &'static str = "text";

    fn from_value(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn to_value(&self) -> Value {
        Value::from(self.as_str())
    }
}

/// Types that are an unsigned number in a file.
macro_rules! number_settings {
    ($($Type:ty, $expected:literal;)*) => {$(
        impl Setting for $Type {
            const EXPECTED: &'static str = $expected;

            fn from_value(value: &Value) -> Option<Self> {
                Self::try_from(value.as_u64()?).ok()
            }

            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn to_value(&self) -> Value {
                Value::from(u64::from(*self))
            }
        }
    )*};
}

number_settings! {
    u16, "a whole number from 0 to 65535";
    u32, "a whole number from 0 to 4294967295";
    u64, "a whole number, 0 or more";
}

/// Types that are an unsigned number other than 0 in a file.
macro_rules! positive_settings {
    ($($Type:ty, $expected:literal;)*) => {$(
        impl Setting for $Type {
            const EXPECTED: &'static str = $expected;

            fn from_value(value: &Value) -> Option<Self> {
                Self::new(value.as_u64()?.try_into().ok()?)
            }

            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn to_value(&self) -> Value {
                Value::from(self.get())
            }
        }
    )*};
}

positive_settings! {
    NonZeroU32, "a whole number from 1 to 4294967295";
    NonZeroU64, "a whole number, 1 or more";
}

/// Types that are text in a file and have a strict reading.
macro_rules! parsed_settings {
    ($($Type:ty, $expected:literal;)*) => {$(
        impl Setting for $Type {
            const EXPECTED: &'static str = $expected;

            fn from_value(value: &Value) -> Option<Self> {
                Self::from_text(value.as_str()?)
            }

            fn from_text(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            fn to_value(&self) -> Value {
                Value::from(self.to_string())
            }
        }
    )*};
}

parsed_settings! {
    IpAddr, "an IP address, like 127.0.0.1";
    SocketAddr, "an IP address and a port, like 127.0.0.1:8080";
    Url, "an absolute URL, like https://example.com";
}

/// Types that are a list in a file.
macro_rules! list_settings {
    ($($Item:ty, $expected:literal;)*) => {$(
        impl Setting for Vec<$Item> {
            const EXPECTED: &'static str = $expected;

            fn from_value(value: &Value) -> Option<Self> {
                value.as_array()?.iter().map(<$Item>::from_value).collect()
            }

            fn from_text(text: &str) -> Option<Self> {
                let items = text.split(',').map(str::trim);
                items.filter(|item| !item.is_empty()).map(<$Item>::from_text).collect()
            }

            fn to_value(&self) -> Value {
                self.iter().map(Setting::to_value).collect()
            }
        }
    )*};
}

list_settings! {
    String, "a list of texts (separated by commas in the environment)";
    IpAddr, "a list of IP addresses (separated by commas in the environment)";
}

impl<T: Setting> Setting for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_value(value: &Value) -> Option<Self> {
        T::from_value(value).map(Some)
    }

    /// An empty text unsets the value, so that the environment can take back what a file sets.
    fn from_text(text: &str) -> Option<Self> {
        if text.is_empty() {
            return Some(None);
        }
        T::from_text(text).map(Some)
    }

    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_value)
    }
}

/// Declares a section of settings: a struct with documented fields, its defaults, and its [`Section`].
///
/// ```
/// toolmark_domain::settings! {
///     /// How the bell rings.
///     pub struct BellSettings in "bell" {
///         /// Rings a minute.
///         rings: u32 = 3;
///         /// Who may ring; unset means everyone.
///         password: Option<String> [secret] = None, like "correct horse";
///     }
/// }
/// use toolmark_domain::settings::{Given, Section as _};
/// let mut bell = BellSettings::default();
/// bell.set("rings", Given::Text("7")).unwrap();
/// assert_eq!((bell.rings, bell.password), (7, None));
/// ```
#[macro_export]
macro_rules! settings {
    (
        $(#[doc = $about:literal])*
        $vis:vis struct $Name:ident in $section:literal {$(
            $(#[doc = $doc:literal])*
            $field:ident: $Type:ty $([$mark:ident])? = $default:expr $(, like $example:literal)?;
        )*}
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $Name {$(
            $(#[doc = $doc])*
            pub $field: $Type,
        )*}

        impl Default for $Name {
            fn default() -> Self {
                Self {$($field: $default,)*}
            }
        }

        impl $crate::settings::Section for $Name {
            fn name(&self) -> &'static str {
                $section
            }

            fn doc(&self) -> &'static [&'static str] {
                &[$($about),*]
            }

            fn fields(&self) -> Vec<$crate::settings::Field> {
                let defaults = Self::default();
                vec![$($crate::settings::Field {
                    key: stringify!($field),
                    doc: &[$($doc),*],
                    expected: <$Type as $crate::settings::Setting>::EXPECTED,
                    secret: [$(stringify!($mark),)?].contains(&"secret"),
                    default: $crate::settings::Setting::to_value(&defaults.$field),
                    example: [$($example,)?].first().copied(),
                },)*]
            }

            fn set(
                &mut self,
                key: &str,
                given: $crate::settings::Given<'_>,
            ) -> Result<(), $crate::settings::SetError> {
                match key {
                    $(stringify!($field) => self.$field = $crate::settings::Setting::read(given)?,)*
                    _ => return Err($crate::settings::SetError::Unknown),
                }
                Ok(())
            }

            fn get(&self, key: &str) -> $crate::settings::Value {
                match key {
                    $(stringify!($field) => $crate::settings::Setting::to_value(&self.$field),)*
                    _ => $crate::settings::Value::Null,
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    crate::settings! {
        /// A group for the test.
        struct Sample in "sample" {
            /// First line.
            /// Second line.
            listen: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 80));
            /// A list.
            names: Vec<String> = Vec::new();
            /// A secret.
            token: Option<String> [secret] = None, like "abc";
            /// A bounded number.
            seconds: NonZeroU64 = NonZeroU64::MIN;
        }
    }

    #[test]
    fn values_are_read_from_files_and_from_text() {
        let mut sample = Sample::default();
        for (key, given, after) in [
            (
                "listen",
                Given::Typed(&json!("0.0.0.0:1")),
                Some(json!("0.0.0.0:1")),
            ),
            ("listen", Given::Text("[::1]:2"), Some(json!("[::1]:2"))),
            ("listen", Given::Text("localhost:2"), None),
            ("listen", Given::Typed(&json!(80)), None),
            ("names", Given::Typed(&json!(["a", "b"])), Some(json!(["a", "b"]))),
            ("names", Given::Typed(&json!(["a", 1])), None),
            ("names", Given::Text("a, b,"), Some(json!(["a", "b"]))),
            ("names", Given::Text(""), Some(json!([]))),
            ("token", Given::Text("x"), Some(json!("x"))),
            ("token", Given::Text(""), Some(json!(null))),
            ("seconds", Given::Typed(&json!(5)), Some(json!(5))),
            ("seconds", Given::Typed(&json!(0)), None),
            ("seconds", Given::Typed(&json!(-1)), None),
            ("seconds", Given::Typed(&json!("5")), None),
            ("seconds", Given::Text("0"), None),
        ] {
            let taken = sample.set(key, given);
            assert_eq!(taken.is_ok(), after.is_some(), "{key} {given:?}");
            if let Some(after) = after {
                assert_eq!(sample.get(key), after, "{key} {given:?}");
            }
        }
        assert_eq!(sample.set("nope", Given::Text("1")), Err(SetError::Unknown));
    }

    #[test]
    fn fields_carry_their_documentation() {
        let fields = Sample::default().fields();
        assert_eq!(fields[0].doc, [" First line.", " Second line."]);
        assert_eq!(fields[0].default, json!("127.0.0.1:80"));
        assert_eq!((fields[2].secret, fields[2].example), (true, Some("abc")));
        assert_eq!((fields[0].secret, fields[0].example), (false, None));
    }
}
