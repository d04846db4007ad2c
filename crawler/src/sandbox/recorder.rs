//! Reads what a caged server sends: names it asks for, and the first packet of each connection. Every name resolves
//! to an address of its own in a range kept for tests, so that a connection tells which name it was for.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::report::Report;

/// The first address given out; the range `198.18.0.0/15` is for tests between networks and is never routed.
const FIRST_ADDRESS: u32 = u32::from_be_bytes([198, 18, 1, 0]);
/// Most names that get an address; later ones do not exist.
const NAMES: usize = 4096;
/// Longest question answered, in bytes.
const QUESTION_BYTES: usize = 512;

const ETHERNET: usize = 14;
const TCP: u8 = 6;
const UDP: u8 = 17;
const DNS_PORT: u16 = 53;
const TYPE_A: u16 = 1;

/// Which name has which address.
#[derive(Default)]
pub(super) struct Names {
    addresses: HashMap<String, Ipv4Addr>,
    names: HashMap<Ipv4Addr, String>,
}

impl Names {
    fn address(&mut self, name: &str) -> Option<Ipv4Addr> {
        if let Some(known) = self.addresses.get(name) {
            return Some(*known);
        }
        if self.addresses.len() == NAMES {
            return None;
        }
        let place = u32::try_from(self.addresses.len()).ok()?;
        let address = Ipv4Addr::from(FIRST_ADDRESS + place);
        self.addresses.insert(name.to_owned(), address);
        self.names.insert(address, name.to_owned());
        Some(address)
    }

    fn host(&self, address: IpAddr) -> String {
        let named = match address {
            IpAddr::V4(address) => self.names.get(&address),
            IpAddr::V6(_) => None,
        };
        named.map_or_else(|| address.to_string(), Clone::clone)
    }

    /// The answer to one question, and the question goes into the report.
    pub(super) fn answer(&mut self, asked: &[u8], report: &mut Report) -> Option<Vec<u8>> {
        let question = Question::read(asked)?;
        let address = question.kind == TYPE_A && !is_reverse(&question.name);
        let address = if address {
            self.address(&question.name)
        } else {
            None
        };
        let exists = address.is_some() || self.addresses.contains_key(&question.name);
        if !is_reverse(&question.name) {
            report.reached(question.name.clone(), DNS_PORT, "dns");
        }
        let unknown_name = question.kind == TYPE_A || is_reverse(&question.name);
        let code = if unknown_name && !exists { 3 } else { 0 };
        Some(question.answer(asked, address, code))
    }

    /// Names what a packet tries to reach, if it is the first of a connection or a datagram, and not to the cage
    /// itself.
    pub(super) fn packet(&self, frame: &[u8], report: &mut Report) {
        let Some(packet) = Packet::read(frame) else {
            return;
        };
        let itself = packet.to.is_loopback() || packet.to.is_unspecified();
        // The cage's own answers to questions come from this port, which no caged server may bind.
        if itself || (packet.protocol == "udp" && packet.from_port == DNS_PORT) {
            return;
        }
        report.reached(self.host(packet.to), packet.port, packet.protocol);
    }
}

fn is_reverse(name: &str) -> bool {
    name.rsplit('.').next() == Some("arpa")
}

struct Question {
    name: String,
    kind: u16,
    end: usize,
}

impl Question {
    /// The one question of a query.
    fn read(bytes: &[u8]) -> Option<Self> {
        let is_query = bytes.get(2)? & 0x80 == 0;
        if bytes.len() > QUESTION_BYTES || !is_query || bytes.get(4..6)? != [0, 1] {
            return None;
        }
        let (mut name, mut at) = (String::new(), 12);
        loop {
            let length = usize::from(*bytes.get(at)?);
            at += 1;
            if length == 0 {
                break;
            }
            // A pointer has nothing to point to in a question.
            let label = (length < 64).then(|| bytes.get(at..at + length))??;
            if !name.is_empty() {
                name.push('.');
            }
            push_label(&mut name, label);
            at += length;
            if at > 12 + 255 {
                return None;
            }
        }
        let kind = u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?);
        bytes.get(at + 2..at + 4)?;
        Some(Self {
            name,
            kind,
            end: at + 4,
        })
    }

    fn answer(&self, asked: &[u8], address: Option<Ipv4Addr>, code: u8) -> Vec<u8> {
        let mut answer = Vec::with_capacity(self.end + 16);
        answer.extend(&asked[..2]);
        // An answer to what was asked, recursion done, with or without an address.
        answer.extend([
            0x81,
            0x80 | code,
            0,
            1,
            0,
            u8::from(address.is_some()),
            0,
            0,
            0,
            0,
        ]);
        answer.extend(&asked[12..self.end]);
        if let Some(address) = address {
            answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
            answer.extend(address.octets());
        }
        answer
    }
}

/// A label in the way of zone files: lower case, what is odd by its number.
fn push_label(name: &mut String, label: &[u8]) {
    for byte in label {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(*byte)),
            b'A'..=b'Z' => name.push(char::from(byte.to_ascii_lowercase())),
            _ => {
                let _ = write!(name, "\\{byte:03}");
            }
        }
    }
}

struct Packet {
    to: IpAddr,
    port: u16,
    from_port: u16,
    protocol: &'static str,
}

impl Packet {
    fn read(frame: &[u8]) -> Option<Self> {
        let kind = frame.get(12..ETHERNET)?;
        let ip = frame.get(ETHERNET..)?;
        let (to, protocol, inner) = if kind == [0x08, 0x00] {
            let octets: [u8; 4] = ip.get(16..20)?.try_into().ok()?;
            let header = usize::from(ip.first()? & 15) * 4;
            let later_fragment = (ip.get(6)? & 0x1f) != 0 || *ip.get(7)? != 0;
            if later_fragment {
                return None;
            }
            (IpAddr::V4(Ipv4Addr::from(octets)), *ip.get(9)?, ip.get(header..)?)
        } else if kind == [0x86, 0xdd] {
            let octets: [u8; 16] = ip.get(24..40)?.try_into().ok()?;
            (IpAddr::V6(Ipv6Addr::from(octets)), *ip.get(6)?, ip.get(40..)?)
        } else {
            return None;
        };
        // An IPv4 address written as IPv6 is sent as IPv4 by the kernel, so it need not be read here.
        let protocol = match protocol {
            // The opening packet, and not its answer.
            TCP if inner.get(13)? & 0x12 == 0x02 => "tcp",
            UDP => "udp",
            _ => return None,
        };
        Some(Self {
            to,
            port: u16::from_be_bytes(inner.get(2..4)?.try_into().ok()?),
            from_port: u16::from_be_bytes(inner.get(..2)?.try_into().ok()?),
            protocol,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::{self, Line};
    use super::*;

    fn query(name: &str, kind: u16) -> Vec<u8> {
        let mut bytes = vec![7, 8, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in name.split('.') {
            bytes.push(u8::try_from(label.len()).unwrap());
            bytes.extend(label.as_bytes());
        }
        bytes.push(0);
        bytes.extend(kind.to_be_bytes());
        bytes.extend([0, 1]);
        bytes
    }

    fn frame(to: [u8; 4], protocol: u8, from: u16, port: u16, flags: u8) -> Vec<u8> {
        let mut bytes = vec![0; 12];
        bytes.extend([
            0x08, 0x00, 0x45, 0, 0, 60, 0, 0, 0x40, 0, 64, protocol, 0, 0, 1, 1, 1, 1,
        ]);
        bytes.extend(to);
        bytes.extend(from.to_be_bytes());
        bytes.extend(port.to_be_bytes());
        bytes.extend([0; 9]);
        bytes.push(flags);
        bytes.extend([0; 6]);
        bytes
    }

    fn recorded(act: impl FnOnce(&mut Names, &mut Report)) -> Vec<(String, u16, String)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        let mut report = Report::new(std::fs::File::create(&path).unwrap());
        act(&mut Names::default(), &mut report);
        let lines = report::read(&std::fs::read_to_string(path).unwrap());
        let places = lines.into_iter().filter_map(|line| match line {
            Line::Reached(place) => Some((place.host, place.port, place.protocol)),
            _ => None,
        });
        places.collect()
    }

    #[test]
    fn a_connection_is_told_by_the_name_it_was_for() {
        let seen = recorded(|names, report| {
            let answer = names.answer(&query("API.example", 1), report).unwrap();
            assert_eq!(&answer[..12], [7, 8, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
            let address: [u8; 4] = answer[answer.len() - 4..].try_into().unwrap();
            assert_eq!(address, [198, 18, 1, 0]);
            let none = names.answer(&query("api.example", 28), report).unwrap();
            assert_eq!((none[3], none[7]), (0x80, 0));
            let reverse = names.answer(&query("1.1.18.198.in-addr.arpa", 12), report);
            assert_eq!(reverse.unwrap()[3], 0x83);
            names.packet(&frame(address, TCP, 9, 443, 0x02), report);
            names.packet(&frame(address, TCP, 443, 9, 0x12), report);
            names.packet(&frame([127, 0, 0, 1], TCP, 9, 80, 0x02), report);
            names.packet(&frame([169, 254, 169, 254], TCP, 9, 80, 0x02), report);
            names.packet(&frame([8, 8, 8, 8], UDP, 9, 53, 0), report);
            names.packet(&frame([8, 8, 8, 8], UDP, 53, 9, 0), report);
        });
        let expected = [
            ("api.example", 53, "dns"),
            ("api.example", 443, "tcp"),
            ("169.254.169.254", 80, "tcp"),
            ("8.8.8.8", 53, "udp"),
        ];
        assert_eq!(
            seen,
            expected.map(|(host, port, protocol)| (host.to_owned(), port, protocol.to_owned()))
        );
    }

    #[test]
    fn names_are_not_given_without_end_and_odd_ones_are_escaped() {
        let seen = recorded(|names, report| {
            for number in 0..=NAMES {
                let answer = names.answer(&query(&format!("n{number}.example"), 1), report);
                let code = answer.unwrap()[3] & 15;
                assert_eq!(code, if number < NAMES { 0 } else { 3 });
            }
        });
        assert_eq!(seen.len(), report::REACHED);
        let odd = recorded(|names, report| {
            names.answer(&query("a\n\"é", 1), report);
        });
        assert_eq!(odd[0].0, "a\\010\\034\\195\\169");
    }

    #[test]
    fn any_cut_of_a_packet_or_a_question_is_read_without_harm() {
        let seen = recorded(|names, report| {
            let whole = query("a.example", 1);
            for end in 0..whole.len() {
                assert_eq!(names.answer(&whole[..end], report), None);
            }
            let packet = frame([1, 2, 3, 4], TCP, 9, 80, 2);
            for end in 0..packet.len() - 6 {
                names.packet(&packet[..end], report);
            }
            let mut pointer = query("a.example", 1);
            pointer[12] = 0xc0;
            assert_eq!(names.answer(&pointer, report), None);
        });
        assert_eq!(seen, []);
    }
}
