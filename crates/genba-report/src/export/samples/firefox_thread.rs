//! The tables of one thread of a Firefox profile: what its samples use of strings, functions, frames
//! and stacks.

use std::collections::HashMap;

use genba_model::SampledDetail;

use super::firefox::{category, inline_depth};
use super::firefox_tables::{FrameTable, FunctionTable, ResourceTable, StackTable};
use crate::safe_text;

pub(super) struct Tables<'a> {
    detail: &'a SampledDetail,
    pub(super) strings: Vec<String>,
    pub(super) functions: FunctionTable,
    pub(super) frames: FrameTable,
    pub(super) stacks: StackTable,
    pub(super) resources: ResourceTable,
    string_ids: HashMap<String, u32>,
    function_ids: HashMap<u32, u32>,
    resource_ids: HashMap<u32, u32>,
    /// By frame and depth of inlining.
    frame_ids: HashMap<(u32, u32), u32>,
    /// By stack: its index here and the depth of inlining of its frame.
    stack_ids: HashMap<u32, (u32, u32)>,
}

impl<'a> Tables<'a> {
    pub(super) fn new(detail: &'a SampledDetail) -> Self {
        Self {
            detail,
            strings: Vec::new(),
            functions: FunctionTable::default(),
            frames: FrameTable::default(),
            stacks: StackTable::default(),
            resources: ResourceTable::default(),
            string_ids: HashMap::new(),
            function_ids: HashMap::new(),
            resource_ids: HashMap::new(),
            frame_ids: HashMap::new(),
            stack_ids: HashMap::new(),
        }
    }

    /// Returns the index of a string, sanitised.
    pub(super) fn string(&mut self, text: &str) -> u32 {
        let clean = safe_text::sanitise(text);
        let strings = &mut self.strings;
        *self.string_ids.entry(clean).or_insert_with_key(|clean| {
            strings.push(clean.clone());
            strings.len() as u32 - 1
        })
    }

    /// Returns the index of a stack of the detail in this thread.
    pub(super) fn stack(&mut self, leaf: u32) -> u32 {
        let mut path = Vec::new();
        let mut known = None;
        let mut next = Some(leaf);
        while let Some(id) = next {
            known = self.stack_ids.get(&id).copied();
            if known.is_some() {
                break;
            }
            path.push(id);
            next = self.detail.stacks[id as usize].parent;
        }
        for id in path.into_iter().rev() {
            let frame = self.detail.stacks[id as usize].frame;
            let depth = inline_depth(
                &self.detail.frames[frame as usize],
                known.map(|(_, depth)| depth),
            );
            let frame = self.frame(frame, depth);
            self.stacks.prefix.push(known.map(|(stack, _)| stack));
            self.stacks.frame.push(frame);
            let index = self.stacks.length as u32;
            self.stacks.length += 1;
            self.stack_ids.insert(id, (index, depth));
            known = Some((index, depth));
        }
        known.map_or(0, |(stack, _)| stack)
    }

    fn frame(&mut self, id: u32, depth: u32) -> u32 {
        if let Some(&known) = self.frame_ids.get(&(id, depth)) {
            return known;
        }
        let frame = self.detail.frames[id as usize];
        let function = self.function(frame.function);
        let (category, subcategory) = category(self.detail.function(&frame).kind);
        let table = &mut self.frames;
        // Addresses have 32 bits there.
        let address = frame
            .address
            .and_then(|address| u32::try_from(address).ok());
        table.address.push(address.map_or(-1, i64::from));
        table.inline_depth.push(depth);
        table.category.push(category);
        table.subcategory.push(subcategory);
        table.func.push(function);
        table.native_symbol.push(None);
        table.inner_window_id.push(0);
        table.line.push(frame.line);
        table.column.push(None);
        table.length += 1;
        let index = table.length as u32 - 1;
        self.frame_ids.insert((id, depth), index);
        index
    }

    fn function(&mut self, id: u32) -> u32 {
        if let Some(&known) = self.function_ids.get(&id) {
            return known;
        }
        let detail = self.detail;
        let function = &detail.functions[id as usize];
        let name = self.string(&function.name);
        let file = function
            .file
            .and_then(|file| detail.files.get(file as usize));
        let file = file.map(|file| self.string(file));
        let resource = function
            .module
            .map_or(-1, |module| i64::from(self.resource(module)));
        let table = &mut self.functions;
        table.name.push(name);
        table.is_js.push(false);
        table.relevant_for_js.push(false);
        table.resource.push(resource);
        table.file_name.push(file);
        table.line_number.push(function.line);
        table.column_number.push(None);
        table.length += 1;
        let index = table.length as u32 - 1;
        self.function_ids.insert(id, index);
        index
    }

    fn resource(&mut self, module: u32) -> u32 {
        if let Some(&known) = self.resource_ids.get(&module) {
            return known;
        }
        let path = (self.detail.modules.get(module as usize)).map_or("", |module| &module.path);
        let name = self.string(safe_text::file_name(path));
        let table = &mut self.resources;
        table.lib.push(module);
        table.name.push(name);
        table.host.push(());
        table.kind.push(1);
        table.length += 1;
        let index = table.length as u32 - 1;
        self.resource_ids.insert(module, index);
        index
    }
}
