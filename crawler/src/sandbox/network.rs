//! The network of a cage: a namespace whose loopback device takes every address for its own, so that whatever a
//! server tries to reach ends here, is seen, and is refused by the kernel at once.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket};

/// The loopback device of a fresh namespace.
const LOOPBACK: u32 = 1;

const RTM_NEWLINK: u16 = 16;
const RTM_NEWROUTE: u16 = 24;
const NLMSG_ERROR: u16 = 2;
/// A request that wants an answer.
const REQUEST: u16 = 1 | 4;
/// Create, and fail where it exists.
const CREATE: u16 = 0x400 | 0x200;
const IFF_UP: u32 = 1;
const RTA_OIF: u16 = 4;
const INET: u8 = 2;
const INET6: u8 = 10;

/// Brings loopback up and routes everything to it. Without IPv6 in the kernel only the first part counts.
pub(super) fn close() -> io::Result<()> {
    let netlink = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    ask(&netlink, RTM_NEWLINK, 0, &link_up())?;
    ask(&netlink, RTM_NEWROUTE, CREATE, &everything_local(INET))?;
    match ask(&netlink, RTM_NEWROUTE, CREATE, &everything_local(INET6)) {
        Err(error) if no_ipv6(&error) => Ok(()),
        done => done,
    }
}

fn no_ipv6(error: &io::Error) -> bool {
    let codes = [
        nix::errno::Errno::EAFNOSUPPORT,
        nix::errno::Errno::EOPNOTSUPP,
        nix::errno::Errno::ENODEV,
        nix::errno::Errno::EACCES,
    ];
    codes
        .iter()
        .any(|code| error.raw_os_error() == Some(*code as i32))
}

/// `ip link set lo up`.
fn link_up() -> Vec<u8> {
    let mut body = vec![0; 4];
    body.extend(LOOPBACK.to_ne_bytes());
    body.extend(IFF_UP.to_ne_bytes());
    body.extend(IFF_UP.to_ne_bytes());
    body
}

/// `ip route add local default dev lo`.
fn everything_local(family: u8) -> Vec<u8> {
    let (table_local, by_boot, type_local) = (255, 3, 2);
    let scope = if family == INET { 254 } else { 0 };
    let mut body = vec![family, 0, 0, 0, table_local, by_boot, scope, type_local];
    body.extend(0_u32.to_ne_bytes());
    body.extend(8_u16.to_ne_bytes());
    body.extend(RTA_OIF.to_ne_bytes());
    body.extend(LOOPBACK.to_ne_bytes());
    body
}

/// One request to the kernel, and its word on it.
fn ask(netlink: &OwnedFd, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(16 + body.len()).expect("requests here are short");
    let mut message = Vec::with_capacity(16 + body.len());
    message.extend(length.to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((REQUEST | flags).to_ne_bytes());
    message.extend([0; 8]);
    message.extend(body);
    send(netlink.as_raw_fd(), &message, MsgFlags::empty())?;
    let mut answer = [0; 1024];
    let read = recv(netlink.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    verdict(&answer[..read])
}

/// The error code of an acknowledgement; zero is success.
fn verdict(answer: &[u8]) -> io::Result<()> {
    let odd = || io::Error::other("the kernel gave no acknowledgement");
    let kind = answer.get(4..6).ok_or_else(odd)?;
    let code = answer.get(16..20).ok_or_else(odd)?;
    if kind != NLMSG_ERROR.to_ne_bytes() {
        return Err(odd());
    }
    let code = i32::from_ne_bytes(code.try_into().map_err(|_| odd())?);
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(-code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgement_is_told_from_an_error() {
        let mut answer = vec![0_u8; 36];
        answer[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
        assert!(verdict(&answer).is_ok());
        answer[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(verdict(&answer).unwrap_err().raw_os_error(), Some(1));
        assert!(verdict(&answer[..10]).is_err());
        answer[4] = 3;
        assert!(verdict(&answer).is_err());
    }
}
