//! Which addresses are public. A foreign URL must not reach the network the program runs in.
//!
//! The check is made on the addresses the connection then uses: the resolver below is the connector's own, so a name
//! cannot resolve to one address for the check and to another for the connection.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// What kind of address it is, for those that are not public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressClass {
    Unspecified,
    Loopback,
    Private,
    LinkLocal,
    /// Shared by customers of one provider (100.64.0.0/10).
    Shared,
    Multicast,
    Documentation,
    /// A cloud's address for its own machines, outside the ranges above.
    Metadata,
    /// An IPv4 address inside an obsolete IPv6 form.
    Tunnel,
    Reserved,
}

impl AddressClass {
    /// The words for a message.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unspecified => "an unspecified address",
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::LinkLocal => "a link-local address",
            Self::Shared => "an address of a provider's inner network",
            Self::Multicast => "a multicast address",
            Self::Documentation => "an address for documentation",
            Self::Metadata => "a cloud's metadata address",
            Self::Tunnel => "a tunnelled address",
            Self::Reserved => "a reserved address",
        }
    }
}

/// Why `address` is not public; `None` when it is.
pub(crate) fn class(address: IpAddr) -> Option<AddressClass> {
    match address {
        IpAddr::V4(v4) => class_v4(v4),
        IpAddr::V6(v6) => class_v6(v6),
    }
}

fn class_v4(address: Ipv4Addr) -> Option<AddressClass> {
    use AddressClass as C;
    Some(match address.octets() {
        [0, ..] => C::Unspecified,
        [127, ..] => C::Loopback,
        [10, ..] | [192, 168, ..] | [172, 16..=31, ..] => C::Private,
        [169, 254, ..] => C::LinkLocal,
        [100, 64..=127, ..] => C::Shared,
        [224..=239, ..] => C::Multicast,
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => C::Documentation,
        [168, 63, 129, 16] => C::Metadata,
        // Protocol assignments, the 6to4 relay, benchmarking, and class E with the broadcast address.
        [192, 0, 0, _] | [192, 88, 99, _] | [198, 18 | 19, ..] | [240..=255, ..] => C::Reserved,
        _ => return None,
    })
}

fn class_v6(address: Ipv6Addr) -> Option<AddressClass> {
    use AddressClass as C;
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        class_v4(Ipv4Addr::new(a, b, c, d))
    };
    Some(match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => C::Unspecified,
        [0, 0, 0, 0, 0, 0, 0, 1] => C::Loopback,
        // A mapped address and the well-known NAT64 prefix lead to the IPv4 address inside.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            return embedded(high, low);
        }
        [0xfe80..=0xfebf, ..] => C::LinkLocal,
        // fec0::/10 was the site-local range before fc00::/7.
        [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => C::Private,
        [0xff00..=0xffff, ..] => C::Multicast,
        [0x2001, 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => C::Documentation,
        // 6to4 and Teredo.
        [0x2002, ..] | [0x2001, 0, ..] => C::Tunnel,
        [0x2001, 1..=0x01ff, ..] => C::Reserved,
        [0x2000..=0x3fff, ..] => return None,
        _ => C::Reserved,
    })
}

/// Says which addresses a foreign URL may lead to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    trusted: Arc<[IpAddr]>,
}

impl Guard {
    pub(crate) fn new(trusted: Vec<IpAddr>) -> Self {
        Self {
            trusted: trusted.into(),
        }
    }

    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.contains(&address)
    }

    /// Refuses an address that is neither public nor trusted by the operator.
    pub(crate) fn check(&self, address: IpAddr) -> Result<(), Forbidden> {
        match class(address) {
            Some(class) if !self.trusts(address) => Err(Forbidden { address, class }),
            _ => Ok(()),
        }
    }
}

/// The guard's refusal, on its way through the connector.
#[derive(Debug)]
pub(crate) struct Forbidden {
    pub(crate) address: IpAddr,
    pub(crate) class: AddressClass,
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.address, self.class.as_str())
    }
}

impl std::error::Error for Forbidden {}

/// Resolves names with the system's resolver.
pub(crate) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Hands on only what the guard lets pass. One forbidden address among several refuses the name: no honest name
/// needs it, and which one is tried first is not ours to choose.
pub(crate) struct GuardedResolver {
    pub(crate) inner: Arc<dyn Resolve>,
    pub(crate) guard: Guard,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.guard.clone();
        let found = self.inner.resolve(name);
        Box::pin(async move {
            let addresses: Vec<SocketAddr> = found.await?.collect();
            for address in &addresses {
                guard.check(address.ip())?;
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
