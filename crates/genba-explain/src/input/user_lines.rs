//! The user's lines that ask for a service, and shares of time by what functions are.

use genba_model::FindingSite;

use crate::constants::counts::MIN_PAGING_RATIO;
use crate::input::analysis_input::{AnalysisInput, FunctionInput, Place, RuntimeUse, UserCall};
use crate::input::runtime_services::is_copy_function;

/// A line of the user's with what it asks for.
#[derive(Clone, Debug)]
pub struct UserLine<'a> {
    /// Site of the line.
    pub site: FindingSite,
    /// Calls of the service.
    pub calls: f64,
    /// The calls in the code.
    pub users: Vec<&'a UserCall>,
}

/// Users by line, most calls first; where lines are not known, by the address of the call.
pub fn lines<'a>(users: impl IntoIterator<Item = &'a UserCall>) -> Vec<UserLine<'a>> {
    let mut list: Vec<UserLine<'a>> = Vec::new();
    for user in users {
        let site = site_of(&user.function, &user.module, user.address, &user.place);
        let same = |line: &&mut UserLine<'_>| {
            line.site.file == site.file
                && line.site.line == site.line
                && line.site.function == site.function
                && (site.line.is_some() || line.site.addresses.contains(&user.address))
        };
        match list.iter_mut().find(same) {
            Some(line) => {
                line.calls += user.calls;
                line.site.addresses.push(user.address);
                line.users.push(user);
            }
            None => list.push(UserLine {
                site,
                calls: user.calls,
                users: vec![user],
            }),
        }
    }
    list.sort_by(|a, b| b.calls.total_cmp(&a.calls));
    list
}

/// A site at a place of the user's code.
#[must_use]
pub fn site_of(function: &str, module: &str, address: u64, place: &Place) -> FindingSite {
    FindingSite {
        function: place
            .function
            .clone()
            .unwrap_or_else(|| function.to_owned()),
        module: module.to_owned(),
        file: place.file.clone(),
        line: place.line,
        end_line: place.line,
        addresses: vec![address],
        called_from: None,
        inside: None,
    }
}

impl AnalysisInput {
    /// A service of the runtime by name.
    #[must_use]
    pub fn service(&self, name: &str) -> Option<&RuntimeUse> {
        self.program.runtime.iter().find(|one| one.service == name)
    }

    /// Calls of a service.
    #[must_use]
    pub fn service_calls(&self, name: &str) -> u64 {
        self.service(name).map_or(0, |one| one.calls)
    }

    /// Share of all time in functions of the runtime that are of a kind.
    #[must_use]
    pub fn share_where(&self, is: impl Fn(&FunctionInput) -> bool) -> f64 {
        let fitting = self.functions.iter().filter(|function| is(function));
        fitting.map(|function| function.share.value).sum()
    }

    /// Share of all time in copies of memory.
    #[must_use]
    pub fn copy_share(&self) -> f64 {
        self.share_where(|f| !f.own && is_copy_function(&f.function))
    }

    /// Share of all time in the kernel for some reasons.
    #[must_use]
    pub fn kernel_share_for(&self, reasons: &[&str]) -> f64 {
        let work = self.program.kernel.iter();
        work.filter(|work| reasons.contains(&work.reason))
            .map(|work| work.share)
            .fold(0.0, |sum, share| sum + share)
    }

    /// Time of an operation of the host table, seconds.
    #[must_use]
    pub fn host_seconds(&self, form: &str) -> Option<f64> {
        let list = &self.program.host_seconds;
        list.iter()
            .find(|one| one.0.starts_with(form))
            .map(|one| one.1)
    }

    /// Share of all time that page faults take: by name of the kernel's functions, or by number
    /// and the host's price where that is more; never more than the kernel took.
    #[must_use]
    pub fn fault_share(&self) -> f64 {
        let named = self.kernel_share_for(&["page fault", "page clearing"]);
        let counted = || {
            let faults = self.program.minor_faults?;
            let cpu = Some(self.program.cpu_seconds).filter(|&cpu| cpu > 0.0)?;
            Some(faults * self.host_seconds("page fault")? / cpu)
        };
        named
            .max(counted().unwrap_or(0.0))
            .min(self.program.kernel_share)
    }
}

impl AnalysisInput {
    /// Share of all time that the kernel's handling of memory takes: faults and clearing, and
    /// what has no telling name (giving pages back, lists, locks), unless system calls are more.
    #[must_use]
    pub fn paging_share(&self) -> f64 {
        let faults = self.fault_share();
        let calls = self.kernel_share_for(&["system call"]);
        let others = calls + self.kernel_share_for(&["copy", "futex", "scheduler"]);
        let rest = (self.program.kernel_share - others - faults).max(0.0);
        match faults > MIN_PAGING_RATIO * calls {
            true => faults + rest,
            false => faults,
        }
    }
}
