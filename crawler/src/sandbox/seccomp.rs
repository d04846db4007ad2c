//! The system calls a caged server may not make, as a filter program for the kernel.
//!
//! A list of what is refused, not of what is allowed: servers run on many runtimes, and what matters for a cage is
//! what reaches beyond it: other namespaces, other processes, kernel interfaces with a long history of holes.

use nix::libc;

/// One instruction of the filter: code, jump if true, jump if false, operand.
type Step = (u16, u8, u8, u32);

const LOAD: u16 = 0x20;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;
const REFUSE: u32 = 0x0005_0000;
const EPERM: u32 = 1;
const ENOSYS: u32 = 38;
const EAFNOSUPPORT: u32 = 97;

/// Offsets in what the kernel shows of a call.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;
const SECOND_ARGUMENT: u32 = 24;

#[cfg(target_arch = "x86_64")]
const OURS: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const OURS: u32 = 0xc000_00b7;
/// Calls of the x32 interface have this bit.
const X32: u32 = 0x4000_0000;

/// New namespaces of every kind; a cage has its own and needs no more.
const NEW_NAMESPACE: u32 = 0x7e02_0080;
/// `TIOCSTI` and `TIOCLINUX`: typing into a terminal.
const TERMINAL_INPUT: [u32; 2] = [0x5412, 0x541c];
/// Local, IPv4, IPv6, and netlink, by which runtimes list interfaces.
const SOCKET_FAMILIES: [u32; 4] = [1, 2, 10, 16];

/// What is refused, whatever its arguments.
const REFUSED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_move_pages,
    libc::SYS_name_to_handle_at,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_modify_ldt,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
    libc::SYS_uselib,
    libc::SYS_ustat,
];
#[cfg(target_arch = "aarch64")]
const REFUSED_HERE: &[i64] = &[];

/// The program, as the kernel wants it.
pub(super) fn program() -> Vec<u8> {
    let steps = steps();
    let mut bytes = Vec::with_capacity(steps.len() * 8);
    for (code, yes, no, operand) in steps {
        bytes.extend(code.to_ne_bytes());
        bytes.extend([yes, no]);
        bytes.extend(operand.to_ne_bytes());
    }
    bytes
}

fn steps() -> Vec<Step> {
    let mut steps = vec![
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, OURS),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, X32),
        (RETURN, 0, 0, KILL),
    ];
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        steps.extend([(EQUAL, 0, 1, number(*call)), (RETURN, 0, 0, REFUSE | EPERM)]);
    }
    // Its flags lie in memory, where a filter cannot look; the C library then asks `clone`.
    steps.extend([
        (EQUAL, 0, 1, number(libc::SYS_clone3)),
        (RETURN, 0, 0, REFUSE | ENOSYS),
    ]);
    steps.extend([
        (EQUAL, 0, 4, number(libc::SYS_clone)),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (ANY_BIT, 0, 1, NEW_NAMESPACE),
        (RETURN, 0, 0, REFUSE | EPERM),
        (RETURN, 0, 0, ALLOW),
    ]);
    steps.extend([
        (EQUAL, 0, 5, number(libc::SYS_ioctl)),
        (LOAD, 0, 0, SECOND_ARGUMENT),
        (EQUAL, 1, 0, TERMINAL_INPUT[0]),
        (EQUAL, 0, 1, TERMINAL_INPUT[1]),
        (RETURN, 0, 0, REFUSE | EPERM),
        (RETURN, 0, 0, ALLOW),
    ]);
    steps.extend([
        (EQUAL, 0, 6, number(libc::SYS_socket)),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (EQUAL, 4, 0, SOCKET_FAMILIES[0]),
        (EQUAL, 3, 0, SOCKET_FAMILIES[1]),
        (EQUAL, 2, 0, SOCKET_FAMILIES[2]),
        (EQUAL, 1, 0, SOCKET_FAMILIES[3]),
        (RETURN, 0, 0, REFUSE | EAFNOSUPPORT),
    ]);
    steps.push((RETURN, 0, 0, ALLOW));
    steps
}

fn number(call: i64) -> u32 {
    u32::try_from(call).expect("calls are numbered from zero")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the program says to one call, by our own reading of the instructions.
    fn answer(architecture: u32, call: u32, arguments: [u32; 2]) -> u32 {
        let steps = steps();
        let (mut at, mut held) = (0_usize, 0_u32);
        loop {
            let (code, yes, no, operand) = steps[at];
            at += 1;
            let jump = |truth: bool| usize::from(if truth { yes } else { no });
            match code {
                RETURN => return operand,
                LOAD => {
                    held = match operand {
                        NUMBER => call,
                        ARCHITECTURE => architecture,
                        FIRST_ARGUMENT => arguments[0],
                        _ => arguments[1],
                    }
                }
                EQUAL => at += jump(held == operand),
                AT_LEAST => at += jump(held >= operand),
                _ => at += jump(held & operand != 0),
            }
        }
    }

    #[test]
    fn each_call_gets_its_answer() {
        let call = |call: i64, arguments| answer(OURS, number(call), arguments);
        for refused in REFUSED.iter().chain(REFUSED_HERE) {
            assert_eq!(call(*refused, [0, 0]), REFUSE | EPERM, "{refused}");
        }
        for fine in [
            libc::SYS_read,
            libc::SYS_execve,
            libc::SYS_openat,
            libc::SYS_futex,
        ] {
            assert_eq!(call(fine, [u32::MAX, u32::MAX]), ALLOW);
        }
        assert_eq!(call(libc::SYS_clone3, [0, 0]), REFUSE | ENOSYS);
        assert_eq!(call(libc::SYS_clone, [0x0100_0011, 0]), ALLOW);
        assert_eq!(call(libc::SYS_clone, [0x1000_0011, 0]), REFUSE | EPERM);
        assert_eq!(call(libc::SYS_ioctl, [0, 0x5401]), ALLOW);
        assert_eq!(call(libc::SYS_ioctl, [0, 0x5412]), REFUSE | EPERM);
        assert_eq!(call(libc::SYS_ioctl, [0, 0x541c]), REFUSE | EPERM);
        for family in SOCKET_FAMILIES {
            assert_eq!(call(libc::SYS_socket, [family, 0]), ALLOW);
        }
        for family in [0, 17, 38, 40] {
            assert_eq!(call(libc::SYS_socket, [family, 0]), REFUSE | EAFNOSUPPORT);
        }
        assert_eq!(answer(0x4000_0003, 0, [0, 0]), KILL);
        assert_eq!(answer(OURS, X32 | 1, [0, 0]), KILL);
    }

    #[test]
    fn an_instruction_has_eight_bytes() {
        assert_eq!(program().len(), steps().len() * 8);
        assert_eq!(program().len() % 8, 0);
    }
}
