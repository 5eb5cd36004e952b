//! How many connections there may be, in total and from one address.
//!
//! An IPv6 address counts by its first 64 bits: who has one has all that begin so (RFC 4291, 2.5.1), and could open as
//! many connections as there are addresses.
//!
//! Invariants: whoever is admitted is counted until its permit is dropped, even by a panic.
//! Not here: what a refused client is told (`acceptor`, `error`).

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Counts of all listeners together.
#[derive(Default)]
pub(crate) struct Admission {
    open: AtomicUsize,
    open_max: AtomicUsize,
    by_address: Mutex<HashMap<IpAddr, usize>>,
    by_address_max: AtomicUsize,
}

/// A connection among all.
pub(crate) struct Permit(Arc<Admission>);

/// A connection among those of its address.
pub(crate) struct AddressPermit(Arc<Admission>, IpAddr);

impl Admission {
    /// `by_address_max`: 0 for no limit.
    pub(crate) fn set(&self, open_max: usize, by_address_max: usize) {
        self.open_max.store(open_max, Ordering::Relaxed);
        self.by_address_max.store(by_address_max, Ordering::Relaxed);
    }

    /// Connections that are open, those included that wait for a worker.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    /// One more connection, if there may be one.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<Permit> {
        let open_max = self.open_max.load(Ordering::Relaxed);
        let more = |open| (open < open_max).then_some(open + 1);
        let admitted = self.open.fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        admitted.ok().map(|_| Permit(Arc::clone(self)))
    }

    /// One more connection of this address, or of its network; `Ok(None)` where nobody counts.
    ///
    /// Errors: the limit that is reached.
    pub(crate) fn admit_address(
        self: &Arc<Self>,
        address: Option<IpAddr>,
    ) -> Result<Option<AddressPermit>, usize> {
        let max = self.by_address_max.load(Ordering::Relaxed);
        let Some(address) = address.filter(|_| max > 0).map(network) else { return Ok(None) };
        let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let open = by_address.entry(address).or_default();
        if *open >= max {
            return Err(max);
        }
        *open += 1;
        Ok(Some(AddressPermit(Arc::clone(self), address)))
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for AddressPermit {
    fn drop(&mut self) {
        let mut by_address = self.0.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = by_address.get_mut(&self.1) {
            *open -= 1;
            if *open == 0 {
                by_address.remove(&self.1);
            }
        }
    }
}

/// What counts as one address.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !INTERFACE_ID).into(),
        canonical => canonical,
    }
}

/// The part of an IPv6 address that its holder chooses.
const INTERFACE_ID: u128 = u64::MAX as u128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_leaves_makes_room() {
        let admission = Arc::<Admission>::default();
        admission.set(2, 1);
        let first = admission.admit().unwrap();
        let _second = admission.admit().unwrap();
        assert!(admission.admit().is_none());
        drop(first);
        assert!(admission.admit().is_some());
    }

    #[test]
    fn each_address_has_a_limit_of_its_own_and_leaves_nothing_behind() {
        let admission = Arc::<Admission>::default();
        admission.set(9, 1);
        let [one, other] = ["192.0.2.1", "192.0.2.2"].map(|text| Some(text.parse().unwrap()));
        let permit = admission.admit_address(one).unwrap();
        assert_eq!(admission.admit_address(one).err(), Some(1));
        assert!(admission.admit_address(other).is_ok());
        assert!(admission.admit_address(None).is_ok_and(|permit| permit.is_none()));
        drop(permit);
        assert!(admission.admit_address(one).is_ok());
        assert!(admission.by_address.lock().unwrap().is_empty());
    }

    #[test]
    fn an_ipv6_network_has_one_limit_and_ipv4_addresses_have_their_own() {
        let admission = Arc::<Admission>::default();
        admission.set(9, 1);
        let mut kept = Vec::new();
        for (address, is_admitted) in [
            ("2001:db8:0:1::1", true),
            ("2001:db8:0:1:ffff:ffff:ffff:ffff", false),
            ("2001:db8:0:2::1", true),
            ("192.0.2.1", true),
            ("192.0.2.2", true),
            // The same as without the prefix, on a socket of both families.
            ("::ffff:192.0.2.1", false),
            ("::ffff:192.0.2.3", true),
        ] {
            let permit = admission.admit_address(Some(address.parse().unwrap()));
            assert_eq!(permit.is_ok(), is_admitted, "{address}");
            kept.extend(permit);
        }
        drop(kept);
        assert!(admission.by_address.lock().unwrap().is_empty());
    }
}
