//! What the kernel was doing, by the names of its functions.

use std::collections::HashMap;

use crate::input::analysis_input::KernelWork;

/// Reasons with what their functions' names begin with or hold; the first that fits counts.
const REASONS: &[(&str, &[&str])] = &[
    (
        "page clearing",
        &["clear_page", "clear_huge_page", "clear_folio", "folio_zero"],
    ),
    (
        "page fault",
        &[
            "page_fault",
            "handle_mm_fault",
            "do_anonymous_page",
            "do_fault",
            "do_user_addr_fault",
            "mem_cgroup",
            "charge_memcg",
            "alloc_pages",
            "alloc_folio",
            "get_page_from_freelist",
            "rmqueue",
            "lru_",
            "folio_add",
            "vma_",
            "mas_",
            "mt_find",
            "pte_",
            "__pte",
            "next_uptodate_page",
            "filemap_map_pages",
            "set_pte",
            "native_flush_tlb",
            "free_unref",
            "release_pages",
            "unmap_page",
            "zap_pte",
            "sync_regs",
            "error_entry",
            "cgroup_",
            "prep_new_page",
            "post_alloc_hook",
        ],
    ),
    ("futex", &["futex", "plist_", "hash_futex"]),
    (
        "copy",
        &[
            "copy_user",
            "rep_movs",
            "_copy_to",
            "_copy_from",
            "copy_page",
            "memcpy",
            "copyin",
            "copyout",
        ],
    ),
    (
        "scheduler",
        &[
            "schedule",
            "pick_next",
            "finish_task_switch",
            "try_to_wake",
            "enqueue_",
            "dequeue_",
            "update_curr",
            "__switch_to",
            "select_task",
            "ttwu",
        ],
    ),
    (
        "system call",
        &[
            "entry_SYSCALL",
            "do_syscall",
            "syscall",
            "ksys_",
            "vfs_",
            "__x64_sys",
            "fdget",
            "__fget",
            "security_",
            "rw_verify",
            "fsnotify",
            "pipe_",
            "tty_",
            "sock_",
            "tcp_",
            "unix_",
            "ext4_",
            "filemap_read",
            "generic_",
            "new_sync",
            "shmem_",
            "aa_file",
            "apparmor",
        ],
    ),
];

/// Adds up time in the kernel by reason, largest first. `functions` are names with shares.
pub(crate) fn kernel_work<'a>(
    functions: impl IntoIterator<Item = (&'a str, f64)>,
) -> Vec<KernelWork> {
    let mut sums: HashMap<&'static str, f64> = HashMap::new();
    for (name, share) in functions {
        *sums.entry(reason(name)).or_default() += share;
    }
    let mut list: Vec<KernelWork> = sums
        .into_iter()
        .map(|(reason, share)| KernelWork { reason, share })
        .collect();
    list.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.reason.cmp(b.reason)));
    list
}

fn reason(name: &str) -> &'static str {
    REASONS
        .iter()
        .find(|(_, parts)| parts.iter().any(|part| name.contains(part)))
        .map_or("other", |(reason, _)| reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_time_is_summed_by_reason() {
        let work = kernel_work([
            ("clear_page_erms", 0.2),
            ("asm_exc_page_fault", 0.05),
            ("entry_SYSCALL_64_after_hwframe", 0.01),
            ("futex_wake", 0.02),
            ("clear_page_rep", 0.1),
            ("something_else", 0.001),
        ]);
        let list: Vec<(&str, f64)> = work.iter().map(|w| (w.reason, w.share)).collect();
        assert_eq!(list.len(), 5);
        assert_eq!(list[0].0, "page clearing");
        assert!((list[0].1 - 0.3).abs() < 1e-12);
        assert_eq!(list[4], ("other", 0.001));
    }
}
