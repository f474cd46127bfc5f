//! `quadratic`: work that grows with the square of the input.
//!
//! **Signature.** One run cannot show growth; what it can show is the shape that has it:
//! (a) an inner loop that looks through a sequence for one equal element, from the beginning,
//! hundreds of elements for each item; (b) a move of memory onto itself shifted by a constant:
//! an element taken out of, or put into, the front of a long array; (c) `strcat` or `strlen` of
//! a string that has grown long, for each piece.
//!
//! **Confirmation.** Runs with inputs of several sizes: an exponent over 1.5.
//!
//! **Gain.** What stays is a look-up a item: a few dozen cycles.
//!
//! **Source.** S. Goldsmith, A. Aiken, D. Wilkerson, "Measuring Empirical Computational
//! Complexity", FSE 2007.

use genba_code::{Flow, Location};
use genba_model::Estimate;

use super::calls::{Call, all_calls, cycles_of_all};
use super::candidate::Candidate;
use super::frame::{Frame, FunctionFrame};
use super::hot_loops::{HotLoop, hot_loops};
use super::invariance::{is_same_each_round, value_at};
use super::steps::{Step, address_step};
use super::user_lines::{lines, site_of};
use super::values::{Origin, Value};
use super::words::{count, cycles, percent};

/// Identifier.
pub const ID: &str = "quadratic";

/// Share of the time below which nothing is looked at: what grows takes most in the end.
const LEAST: f64 = 0.1;

/// Elements looked at for each search, on average, from which a search is long.
const LONG: f64 = 150.0;

/// Searches that make it many.
const MANY: u64 = 500;

/// Bytes of an average move, from which it is long, at the most that caches deliver.
const LONG_MOVE_CYCLES: f64 = 300.0;

const RDI: Location = 7;
const RSI: Location = 6;

/// Looks for it.
#[must_use]
pub fn detect(frame: &Frame) -> Vec<Candidate> {
    let loops = hot_loops(frame, LEAST);
    let mut found: Vec<Candidate> = loops.iter().filter_map(|one| search(frame, one)).collect();
    found.extend(all_calls(frame).filter_map(|call| call_of(frame, &call)));
    if found.is_empty() {
        found.extend(shifts(frame));
        found.extend(all_calls(frame).filter_map(|call| search_by_call(frame, &call)));
    }
    let appends = frame.functions.iter().enumerate();
    found.extend(appends.filter_map(|(index, function)| append(frame, index, function)));
    found
}

/// Elements put into, or taken out of, long arrays by functions of the language's library.
fn shifts(frame: &Frame) -> Option<Candidate> {
    let copies = frame.service("copy")?;
    let shifts = |name: &String| {
        let vector = name.contains("vector<") || name.contains("Vec<");
        let what = ["_M_insert_aux", "_M_insert_rval", "_M_erase", "::erase"];
        let rust =
            name.contains("Vec<") && (name.ends_with("::insert") || name.ends_with("::remove"));
        vector && (rust || what.iter().any(|part| name.contains(part)))
    };
    let users = copies
        .users
        .iter()
        .filter(|user| user.through.iter().any(shifts));
    let line = lines(users).into_iter().next()?;
    let part = (line.calls / copies.calls.max(1) as f64).min(1.0);
    let share = frame.copy_share() * part;
    let each = share * cycles_of_all(frame)? / line.calls.max(1.0);
    if line.calls < MANY as f64 || share < LEAST || each < LONG_MOVE_CYCLES {
        return None;
    }
    let user = line.users.first()?;
    let through = user.through.iter().find(|name| shifts(name))?;
    let stays = |cycles: f64| (cycles / each).clamp(0.0, 0.9);
    let mut one = Candidate::new(ID, None, Vec::new());
    one.at = Some(line.site.clone());
    one.share = Some(share);
    one.remains = Estimate {
        value: stays(15.0),
        low: 0.0,
        high: stays(60.0),
    };
    one.executions = Some(line.calls as u64);
    one.cycles = Some(Estimate::exact(each));
    one.fix = SHIFT_FIX.to_owned();
    one.example = SHIFT_EXAMPLE;
    one.confirm = "genba sweep over the input's size: time that grows with its square".to_owned();
    Some(
        one.counted(format!(
            "`{through}` moves all elements behind the place, {} times",
            count(line.calls as u64)
        ))
        .measured(format!(
            "the moves take {} of the time, {} cycles each: the array is long",
            percent(share),
            cycles(each)
        )),
    )
}

const SHIFT_FIX: &str = "Put in and take out at the end, or use a ring or deque (std::deque, VecDeque), or keep an \
    index of the first one: then nothing is moved. If order does not matter, swap with the last.";

const SHIFT_EXAMPLE: Option<(&str, &str)> = Some((
    "job = jobs.front();\njobs.erase(jobs.begin());",
    "job = jobs.front();   // std::deque\njobs.pop_front();",
));

/// A search that compares each element's name with a call.
fn search_by_call(frame: &Frame, call: &Call<'_>) -> Option<Candidate> {
    let function = &frame.functions[call.caller];
    let at = call.site.at;
    let bare = call.target.function.trim_start_matches('_');
    let compares = ["strcmp", "strcasecmp", "strncmp", "memcmp", "bcmp"];
    if !function.own || !compares.iter().any(|name| bare.starts_with(name)) {
        return None;
    }
    let index = function.flow.loop_of_instruction(at)?;
    let cost = function.loops.get(index as usize)?.as_ref()?;
    let entries = cost.entries.filter(|&entries| entries >= MANY)?;
    let members = function.loop_instructions(index);
    let others = function.call_sites.iter();
    let mut others = others.filter(|site| site.at != at && members.contains(&site.at));
    // Out of the loop where it is equal.
    let test =
        (at + 1..at + 4).find(|&i| function.code.get(i).is_some_and(|c| c.mnemonic == "test"))?;
    let leaves = matches!(function.code.get(test + 1)?.flow, Flow::CondJump(_)) && {
        let block = function.flow.block_of(test + 1)?;
        let successors = &function.flow.blocks()[block as usize].successors;
        let first = |to: &u32| function.flow.blocks()[*to as usize].instructions.start as usize;
        successors.iter().any(|to| !members.contains(&first(to)))
    };
    let trips = cost.iterations as f64 / entries as f64;
    if !leaves || others.next().is_some() || trips < LONG || !function.is_innermost(index) {
        return None;
    }
    let fixed = |location| {
        value_at(function, at, location)
            .is_some_and(|value| is_same_each_round(function, index, value))
    };
    // One of the two stays, the other goes on.
    if fixed(RDI) == fixed(RSI) {
        return None;
    }
    let (inside, _) = super::loop_invariant_call::cost(frame, call)?;
    // What stands at the call and behind it is in both.
    let rest = members.iter().copied().filter(|&i| i != at && i != at + 1);
    let share = (inside + function.heat_of(rest)).min(1.0);
    let each = share * cycles_of_all(frame)? / entries as f64;
    if share < LEAST {
        return None;
    }
    let stays = |cycles: f64| (cycles / each).clamp(0.0, 0.9);
    let mut one = Candidate::new(ID, Some(call.caller), vec![at]);
    one.affected = members;
    one.share = Some(share);
    one.remains = Estimate {
        value: stays(100.0),
        low: stays(20.0),
        high: stays(500.0),
    };
    one.executions = Some(call.target.count);
    one.cycles = Some(Estimate::exact(each));
    one.fix = "Keep the names in a hash table (or sorted, and search by halves), so that one look-up finds what each \
               search now walks for."
        .to_owned();
    one.example = Some((
        "for (i = 0; i < n; i++)\n    if (strcmp(table[i].name, name) == 0)\n        return &table[i];",
        "for (i = hash(name) & mask; table[i].name; i = (i + 1) & mask)\n    if (strcmp(table[i].name, name) == 0)\n        return &table[i];",
    ));
    one.confirm = "genba sweep over the input's size: time that grows with its square".to_owned();
    Some(
        one.counted(format!(
            "{} searches compare {trips:.0} names each, one after another from the beginning",
            count(entries)
        ))
        .measured(format!(
            "{} of the time, {} cycles a search",
            percent(share),
            cycles(each)
        )),
    )
}

/// `strcat` to strings that have grown long, whoever calls it.
fn append(frame: &Frame, index: usize, function: &FunctionFrame) -> Option<Candidate> {
    let bare = function.function.trim_start_matches('_');
    if function.own || !(bare.starts_with("strcat") || bare.starts_with("wcscat")) {
        return None;
    }
    let calls = function.calls?;
    let caller = function.callers.iter().find(|caller| caller.own)?;
    let each = function.share.value * cycles_of_all(frame)? / calls.max(1) as f64;
    if calls < MANY || function.share.value < LEAST || each < LONG_MOVE_CYCLES {
        return None;
    }
    let stays = |cycles: f64| (cycles / each).clamp(0.0, 0.9);
    let mut one = Candidate::new(ID, Some(index), (0..function.code.len()).collect());
    one.at = Some(site_of(
        &caller.function,
        &caller.module,
        caller.address,
        &caller.place,
    ));
    one.share = Some(function.share.value);
    one.remains = Estimate {
        value: stays(20.0),
        low: 0.0,
        high: stays(80.0),
    };
    one.executions = Some(calls);
    one.cycles = Some(Estimate::exact(each));
    one.fix = "Keep a pointer to the string's end and append there: `strcat` looks for the end from the beginning each \
               time."
        .to_owned();
    one.example = Some((
        "strcat(text, piece);",
        "size_t n = strlen(piece);\nmemcpy(end, piece, n + 1);\nend += n;",
    ));
    one.confirm = "genba sweep over the input's size: time that grows with its square".to_owned();
    Some(
        one.counted(format!("`strcat` was called {} times", count(calls)))
            .measured(format!(
                "it takes {} of the time, {} cycles a call: the strings that it goes through are long",
                percent(function.share.value),
                cycles(each)
            )),
    )
}

/// A search from the beginning, for each of many items.
fn search(frame: &Frame, found: &HotLoop<'_>) -> Option<Candidate> {
    let function = found.frame;
    let trips = found.trips?;
    let entries = found.cost.entries?;
    if !function.own || trips < LONG || entries < MANY || found.has_opaque() {
        return None;
    }
    let compare = found.usual().find(|&at| looks_for(found, at))?;
    let all = cycles_of_all(frame)?;
    let each = found.share * all / entries as f64;
    let stays = |cycles: f64| (cycles / each).clamp(0.0, 0.9);
    let mut one = Candidate::new(ID, Some(found.function), vec![compare]);
    one.affected = found.members.clone();
    one.remains = Estimate {
        value: stays(40.0),
        low: stays(8.0),
        high: stays(200.0).max(stays(40.0)),
    };
    one.executions = Some(found.cost.iterations);
    one.cycles = Some(found.cycles);
    one.fix = "Keep the elements in a hash table or set (or sorted, and search by halves), so that one look-up finds \
               what each search now walks for."
        .to_owned();
    one.example = Some((
        "if (!contains(list, key))\n    append(list, key);",
        "if (set_insert(seen, key))\n    append(list, key);",
    ));
    one.confirm = "genba sweep over the input's size: time that grows with its square".to_owned();
    Some(
        one.counted(format!(
            "{} searches look at {:.0} elements each, one after another from the beginning: {} in all",
            count(entries),
            trips,
            count(found.cost.iterations)
        ))
        .measured(format!(
            "{} of the time, {} cycles a search",
            percent(found.share),
            cycles(each)
        ))
        .model("a look-up in a hash table takes some dozens of cycles, however many elements there are"),
    )
}

/// Whether a comparison looks for an equal element: an element of the sequence with a value that
/// stays, and out of the loop if they are equal.
fn looks_for(found: &HotLoop<'_>, at: usize) -> bool {
    let function = found.frame;
    let next = at + 1;
    if function.code[at].mnemonic != "cmp" || next >= function.code.len() {
        return false;
    }
    let equal = matches!(function.code[next].mnemonic, "je" | "jne");
    let Some(block) = function.flow.block_of(next) else {
        return false;
    };
    let outside = |to: &u32| {
        let first = function.flow.blocks()[*to as usize].instructions.start as usize;
        !found.members.contains(&first)
    };
    let successors = &function.flow.blocks()[block as usize].successors;
    let exits =
        matches!(function.code[next].flow, Flow::CondJump(_)) && successors.iter().any(outside);
    if !equal || !exits {
        return false;
    }
    let (mut elements, mut fixed) = (0, 0);
    for (index, access) in function.data[at].memory.iter().enumerate() {
        let address = function.values.addresses(at).get(index).copied().flatten();
        if access.reads && access.bytes >= 4 && address.is_some_and(|a| is_element(found, &a)) {
            elements += 1;
        }
    }
    let data = &function.data[at];
    let operand = |location: &u8| *location < 16 && data.data_reads & (1 << location) != 0;
    let operands = function
        .values
        .reads(at)
        .iter()
        .filter(|one| operand(&one.0));
    for &(_, value) in operands {
        if function
            .values
            .is_invariant(value, &function.flow, found.index)
        {
            fixed += 1;
        } else if is_loaded_element(found, value) {
            elements += 1;
        }
    }
    elements == 1 && fixed <= 1 && (fixed == 1 || data.form.ends_with(", i"))
}

/// Whether an address goes through a sequence from its beginning: the beginning is not where an
/// earlier search stopped.
fn is_element(found: &HotLoop<'_>, address: &super::values::Address) -> bool {
    let function = found.frame;
    let steps = matches!(
        address_step(function, found.index, address),
        Some(Step::Constant(step)) if step.unsigned_abs() >= 4
    );
    is_list_element(found, address)
        || steps
            && begins_anew(found, address.base)
            && address.index.is_none_or(|(i, _)| begins_anew(found, i))
}

/// Whether an address is in a list's element: its base was loaded from the element before.
fn is_list_element(found: &HotLoop<'_>, address: &super::values::Address) -> bool {
    let function = found.frame;
    let values = &function.values;
    let head = function.flow.loops()[found.index as usize].head;
    if values.origin(address.base) != Origin::Join(head) || address.index.is_some() {
        return false;
    }
    let body = function.flow.loop_blocks(found.index);
    let before = &function.flow.blocks()[head as usize].predecessors;
    let follows = |value: Value| {
        let Origin::Instruction(at) = values.origin(value) else {
            return false;
        };
        let loaded = values.addresses(at as usize).iter().flatten();
        function.data[at as usize].loads()
            && loaded
                .into_iter()
                .any(|from| from.base.number == address.base.number)
    };
    let mut around = before
        .iter()
        .zip(values.met(address.base))
        .filter(|one| body.contains(one.0));
    begins_anew(found, address.base) && around.next().is_some_and(|one| follows(*one.1))
}

fn is_loaded_element(found: &HotLoop<'_>, value: Value) -> bool {
    let function = found.frame;
    let Origin::Instruction(at) = function.values.origin(value) else {
        return false;
    };
    let at = at as usize;
    let wide = function.data[at]
        .memory
        .iter()
        .any(|access| access.reads && access.bytes >= 4);
    let addresses = function.values.addresses(at).iter().flatten();
    // The link itself is compared to know the end.
    let is_link = |address: &super::values::Address| {
        let met = function.values.met(address.base);
        met.iter().any(|one| one.number == value.number)
    };
    wide && function.code[at].mnemonic.starts_with("mov")
        && addresses
            .into_iter()
            .any(|a| is_element(found, a) && !is_link(a))
}

/// Whether a value that moves through the loop begins anew each time: with nothing that an earlier
/// pass of the loop made.
fn begins_anew(found: &HotLoop<'_>, value: Value) -> bool {
    let function = found.frame;
    let head = function.flow.loops()[found.index as usize].head;
    if function.values.origin(value) != Origin::Join(head) {
        return true;
    }
    let before = &function.flow.blocks()[head as usize].predecessors;
    let body = function.flow.loop_blocks(found.index);
    let met = before.iter().zip(function.values.met(value));
    let first: Vec<Value> = met
        .filter(|one| !body.contains(one.0))
        .map(|one| *one.1)
        .collect();
    !first.is_empty() && !first.into_iter().any(|one| is_made_by(found, one))
}

/// Whether a value comes out of the loop on any way.
fn is_made_by(found: &HotLoop<'_>, value: Value) -> bool {
    const MOST: usize = 64;
    let function = found.frame;
    let body = function.flow.loop_blocks(found.index);
    let mut numbers = vec![value.number];
    let mut next = 0;
    while let Some(&number) = numbers.get(next) {
        next += 1;
        let one = Value { number, offset: 0 };
        let block = match function.values.origin(one) {
            Origin::Constant | Origin::Entry => None,
            Origin::Join(block) => Some(block),
            Origin::Instruction(at) => function.flow.block_of(at as usize),
        };
        if numbers.len() > MOST || block.is_some_and(|block| body.contains(&block)) {
            return true;
        }
        let sources = match function.values.origin(one) {
            // Sums of it; not what is loaded from where it points.
            Origin::Instruction(at) if !function.data[at as usize].loads() => {
                let reads = function.values.reads(at as usize).iter();
                reads
                    .filter(|one| one.0 < 16)
                    .map(|one| one.1.number)
                    .collect()
            }
            _ => function
                .values
                .met(one)
                .iter()
                .map(|one| one.number)
                .collect::<Vec<_>>(),
        };
        for source in sources {
            if !numbers.contains(&source) {
                numbers.push(source);
            }
        }
    }
    false
}

/// A move onto itself.
fn call_of(frame: &Frame, call: &Call<'_>) -> Option<Candidate> {
    let function = &frame.functions[call.caller];
    let name = call.target.function.split('@').next()?;
    let bare = name.trim_start_matches('_');
    let moves = bare.starts_with("memmove") || bare.starts_with("memcpy");
    if call.target.count < MANY || !function.own || !moves {
        return None;
    }
    let (share, each) = super::loop_invariant_call::cost(frame, call)?;
    if share < LEAST || each < LONG_MOVE_CYCLES {
        return None;
    }
    let at = call.site.at;
    let (to, from) = (value_at(function, at, RDI)?, value_at(function, at, RSI)?);
    let constant = super::values::CONSTANT;
    if to.number != from.number || to.offset == from.offset || to.number == constant {
        return None;
    }
    let shift = from.offset.wrapping_sub(to.offset);
    let stays = |cycles: f64| (cycles / each).clamp(0.0, 0.9);
    let mut one = Candidate::new(ID, Some(call.caller), vec![at]);
    one.share = Some(share);
    one.remains = Estimate {
        value: stays(15.0),
        low: 0.0,
        high: stays(60.0),
    };
    one.executions = Some(call.target.count);
    one.cycles = Some(Estimate::exact(each));
    one.confirm = "genba sweep over the input's size: time that grows with its square".to_owned();
    one.fix = SHIFT_FIX.to_owned();
    one.example = SHIFT_EXAMPLE;
    one = one.counted(format!(
        "`{name}` is called {} times to move an array onto itself by {} bytes: an element is {} and all behind it move",
        count(call.target.count),
        shift.unsigned_abs(),
        if shift > 0 { "taken out" } else { "put in" }
    ));
    Some(one.measured(format!(
        "the calls take {} of the time, {} cycles each",
        percent(share),
        cycles(each)
    )))
}
