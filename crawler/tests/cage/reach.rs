//! What can be reached from a cage: nothing, and every try is named.

use super::support::python;

#[tokio::test]
async fn every_connection_is_refused_and_named() {
    let ran = python(
        "import socket\n\
         def go(host, port, family=socket.AF_INET):\n\
         \ts = socket.socket(family)\n\
         \ts.settimeout(5)\n\
         \ttry:\n\
         \t\ts.connect((host, port)); print(host, 'open')\n\
         \texcept OSError as e: print(host, e.__class__.__name__)\n\
         go('api.service.example', 443)\n\
         go('169.254.169.254', 80)\n\
         go('10.1.2.3', 5432)\n\
         go('127.0.0.1', 5432)\n\
         go('2001:db8::7', 443, socket.AF_INET6)\n\
         u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
         u.sendto(b'x', ('8.8.4.4', 123))\n",
    )
    .await;
    assert_eq!(ran.code(), Some(0), "{ran:?}");
    let refused = [
        "api.service.example",
        "169.254.169.254",
        "10.1.2.3",
        "127.0.0.1",
        "2001:db8::7",
    ];
    let expected: Vec<String> = refused
        .iter()
        .map(|host| format!("{host} ConnectionRefusedError"))
        .collect();
    assert_eq!(ran.stdout.lines().collect::<Vec<_>>(), expected);
    assert_eq!(
        ran.reached(),
        [
            "dns api.service.example:53",
            "tcp 10.1.2.3:5432",
            "tcp 169.254.169.254:80",
            "tcp 2001:db8::7:443",
            "tcp api.service.example:443",
            "udp 8.8.4.4:123",
        ]
    );
}

#[tokio::test]
async fn a_name_keeps_its_address_however_often_it_is_asked() {
    let ran = python(
        "import socket\n\
         all = {socket.gethostbyname('rebind.example') for _ in range(50)}\n\
         print(len(all), all.pop().startswith('198.18.'))\n\
         print(socket.gethostbyname('other.example').startswith('198.18.'))\n",
    )
    .await;
    assert_eq!(ran.stdout, "1 True\nTrue\n", "{ran:?}");
    assert_eq!(ran.reached(), ["dns other.example:53", "dns rebind.example:53"]);
}

#[tokio::test]
async fn other_ways_to_the_network_are_closed() {
    let ran = python(
        "import socket\n\
         def go(*args):\n\
         \ttry: socket.socket(*args); print('open')\n\
         \texcept OSError as e: print(e.__class__.__name__)\n\
         go(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)\n\
         go(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)\n\
         go(socket.AF_PACKET, socket.SOCK_RAW, 3)\n\
         go(socket.AF_VSOCK, socket.SOCK_STREAM)\n\
         go(socket.AF_BLUETOOTH, socket.SOCK_SEQPACKET, 0)\n\
         go(38, socket.SOCK_SEQPACKET, 0)\n\
         s = socket.socket()\n\
         try: s.bind(('0.0.0.0', 53)); print('bound')\n\
         except OSError as e: print(e.__class__.__name__)\n\
         import subprocess\n\
         print(sorted(i[1] for i in socket.if_nameindex()))\n",
    )
    .await;
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(
        lines,
        [
            "PermissionError",
            "PermissionError",
            "OSError",
            "OSError",
            "OSError",
            "OSError",
            "PermissionError",
            "['lo']"
        ],
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_server_that_tries_everything_is_named_in_part() {
    let ran = python(
        "import socket\n\
         for n in range(3000):\n\
         \ts = socket.socket(); s.settimeout(1)\n\
         \ttry: s.connect(('9.9.%d.%d' % (n // 200, n % 200 + 1), 80))\n\
         \texcept OSError: pass\n\
         \ts.close()\n",
    )
    .await;
    assert_eq!(ran.code(), Some(0));
    assert_eq!(ran.ending.egress.len(), 500);
}
