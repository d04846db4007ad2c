//! Where a look is, told while it runs.

/// A step of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Finding out what the target is.
    Resolve,
    /// Getting its artifact.
    Fetch,
    /// Installing it in the sandbox.
    Install,
    /// Starting its process.
    Start,
    /// Asking what it speaks.
    Greet,
    /// Starting it anew, because it did not survive or answer the first question.
    Restart,
    /// Reading its lists.
    List,
    /// Ending it.
    End,
}

impl Stage {
    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resolve => "resolving",
            Self::Fetch => "fetching",
            Self::Install => "installing",
            Self::Start => "starting",
            Self::Greet => "asking what it speaks",
            Self::Restart => "starting anew",
            Self::List => "reading its lists",
            Self::End => "ending",
        }
    }
}

/// Who is told. Cheap to copy.
#[derive(Clone, Copy)]
pub struct Progress<'a>(Option<&'a (dyn Fn(Stage) + Send + Sync)>);

impl<'a> Progress<'a> {
    /// Nobody is told.
    pub const NONE: Self = Self(None);

    /// `tell` is told.
    pub fn to(tell: &'a (dyn Fn(Stage) + Send + Sync)) -> Self {
        Self(Some(tell))
    }

    /// A step begins.
    pub fn at(self, stage: Stage) {
        if let Some(tell) = self.0 {
            tell(stage);
        }
    }
}
