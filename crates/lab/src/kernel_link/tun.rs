//! A TUN device: whoever holds it gets the packets that the kernel sends to it, and hands packets to the kernel.
//!
//! ```text
//!  read, write: one call, one packet: virtio-net header │ IP packet
//! ```
//!
//! Invariants: in the network namespace of the thread that opened it; gone when closed; reads and writes never block.
//!
//! Not here: its address, its MTU, whether it is up (`running`).
//!
//! Source: Linux, `Documentation/networking/tuntap.rst`, `include/uapi/linux/if_tun.h`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::ioctl::{IntegerSetter, Opcode, Updater, ioctl, opcode};

/// A device.
#[derive(Debug)]
pub(super) struct Tun {
    file: File,
}

impl Tun {
    /// Makes the device `name`. The kernel leaves checksums to it, and the cutting of large packets of TCP if
    /// `takes_large`.
    pub(super) fn open(name: &str, takes_large: bool) -> io::Result<Self> {
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/net/tun")?;
        let tun = Self { file };
        tun.attach(name)?;
        tun.offer_offload(if takes_large { CHECKSUMS | LARGE_TCP4 } else { CHECKSUMS })?;
        Ok(tun)
    }

    fn attach(&self, name: &str) -> io::Result<()> {
        let mut request =
            InterfaceRequest { name: [0; NAME_LEN], flags: TUN | NO_HEADER | VNET_HEADER, rest: [0; 22] };
        let length = name.len();
        // The last byte stays 0.
        let room = request.name[..NAME_LEN - 1].get_mut(..length).ok_or(io::ErrorKind::InvalidInput)?;
        room.copy_from_slice(name.as_bytes());
        // SAFETY: TUNSETIFF reads and writes a `struct ifreq` of 40 bytes, which `request` is and outlives the call.
        #[expect(unsafe_code, reason = "a TUN device can be had by this call only")]
        Ok(unsafe { ioctl(&self.file, Updater::<TUNSETIFF, InterfaceRequest>::new(&mut request)) }?)
    }

    fn offer_offload(&self, offload: usize) -> io::Result<()> {
        // SAFETY: TUNSETOFFLOAD takes a set of bits in place of a pointer, and touches no memory of ours.
        #[expect(unsafe_code, reason = "1 Gbit/s of single segments is too dear")]
        Ok(unsafe { ioctl(&self.file, IntegerSetter::<TUNSETOFFLOAD>::new_usize(offload)) }?)
    }

    pub(super) fn read(&self, packet: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(packet)
    }

    pub(super) fn write(&self, packet: &[u8]) -> io::Result<usize> {
        (&self.file).write(packet)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// `struct ifreq` with its member `ifr_flags`.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; NAME_LEN],
    flags: u16,
    rest: [u8; 22],
}

const NAME_LEN: usize = 16;
/// `_IOW('T', 202, int)`, though it is a `struct ifreq`.
const TUNSETIFF: Opcode = opcode::write::<i32>(b'T', 202);
/// `_IOW('T', 208, unsigned int)`.
const TUNSETOFFLOAD: Opcode = opcode::write::<u32>(b'T', 208);
/// `IFF_TUN`: IP packets, not Ethernet frames.
const TUN: u16 = 0x0001;
/// `IFF_NO_PI`: without the old header.
const NO_HEADER: u16 = 0x1000;
/// `IFF_VNET_HDR`.
const VNET_HEADER: u16 = 0x4000;
/// `TUN_F_CSUM`.
const CHECKSUMS: usize = 0x01;
/// `TUN_F_TSO4`.
const LARGE_TCP4: usize = 0x02;
