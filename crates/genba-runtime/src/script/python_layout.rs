//! The layouts of CPython 3.8 to 3.14: offsets of the fields that are read.
//!
//! They are those of Include/internal/pycore_runtime.h, pycore_interp.h, pycore_frame.h, pycore_gil.h, cpython/pystate.h,
//! cpython/code.h, cpython/frameobject.h and cpython/unicodeobject.h on 64-bit machines, printed by a program that was compiled
//! with the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1, 3.13.0 and 3.14.10; bug-fix releases do not change them. Every object that
//! is read must have the type that it should have, or the stack is not used: a wrong offset gives no stack, never a wrong one.

/// Offsets of one minor version.
#[derive(Debug)]
pub struct Layout {
    /// `_PyRuntime.interpreters.head`.
    pub interpreters_head: u64,
    /// `PyInterpreterState.next`.
    pub next_interpreter: u64,
    /// The first thread state of a `PyInterpreterState`.
    pub threads_head: u64,
    pub thread: Thread,
    pub frame: Frame,
    pub code: Code,
    pub gil: Gil,
    /// Where the characters of a `str` are: of ASCII, and of others.
    pub text: [u64; 2],
}

/// `PyThreadState`.
#[derive(Debug)]
pub struct Thread {
    pub next: u64,
    /// `pthread_self`.
    pub pointer: u64,
    /// The id of the kernel, since 3.11.
    pub native_id: Option<u64>,
    /// `on_delete_data`, a weak reference to the lock that is released as the thread ends; until 3.12.
    pub on_delete_data: Option<u64>,
    pub current: CurrentFrame,
    /// Newest chunk of frames, and end of what is used of it; since 3.11.
    pub chunk_and_top: Option<[u64; 2]>,
}

/// Where a thread state has its innermost frame.
#[derive(Debug)]
pub enum CurrentFrame {
    /// In this field.
    Field(u64),
    /// In the `_PyCFrame` that this field points to, at an offset.
    CFrame(u64, u64),
}

/// `PyFrameObject`, since 3.11 `_PyInterpreterFrame`.
#[derive(Debug)]
pub struct Frame {
    /// The code object; the lowest bit is a tag in 3.14 (`_PyStackRef`).
    pub code: usize,
    pub previous: usize,
    pub position: Position,
    /// `owner`, of frames that the interpreter makes for calls from C; since 3.12.
    pub owner: Option<usize>,
}

/// Where a frame says what it executes.
#[derive(Debug)]
pub enum Position {
    /// Address of an instruction.
    Pointer(usize),
    /// `f_lasti`: an offset in this many bytes.
    Index(usize, u64),
}

/// Least value of [`Frame::owner`] for a frame without code of the script (`FRAME_OWNED_BY_CSTACK`, in 3.14
/// `FRAME_OWNED_BY_INTERPRETER` as well).
pub const NOT_OF_SCRIPT: u8 = 3;
/// What objects' addresses have besides tags.
pub const ADDRESS: u64 = !1;
/// Bytes that are read of a frame.
pub const FRAME_SIZE: usize = 112;

/// `PyCodeObject`.
#[derive(Debug)]
pub struct Code {
    pub first_line: usize,
    pub file: usize,
    /// The qualified name; before 3.11 the bare one.
    pub name: usize,
    pub lines: usize,
    pub format: LineFormat,
    /// Where instructions begin, in the object; since 3.11.
    pub instructions: u64,
    /// Whether the names of the opcodes are known.
    pub has_opcode_names: bool,
}

/// Offset of an object's type.
pub const TYPE: usize = 8;
/// Bytes that are read of a code object: up to its line table.
pub const CODE_SIZE: usize = 144;

/// How lines are written (Objects/lnotab_notes.txt, Objects/locations.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFormat {
    /// Increments of address and line.
    Increments,
    /// Lengths of ranges and increments of the line: 3.10.
    Ranges,
    /// Location entries.
    Locations,
}

/// Where the GIL is.
#[derive(Debug)]
pub enum Gil {
    /// In `_PyRuntime`, and there the state of the thread that holds it; null while nobody does.
    Runtime { gil: u64, holder: u64 },
    /// Where a field of `PyInterpreterState` points to.
    Interpreter(u64),
}

/// Bytes of a GIL (`_gil_runtime_state`), and two of its fields.
pub const GIL_SIZE: u64 = 208;
pub const GIL_LAST_HOLDER: u64 = 8;
pub const GIL_LOCKED: u64 = 16;

impl Layout {
    /// The layout of Python 3.`minor`.
    #[must_use]
    pub fn of(minor: u32) -> Option<&'static Self> {
        match minor {
            8 => Some(&V3_8),
            9 => Some(&V3_9),
            10 => Some(&V3_10),
            11 => Some(&V3_11),
            12 => Some(&V3_12),
            13 => Some(&V3_13),
            14 => Some(&V3_14),
            _ => None,
        }
    }
}

const fn old(gil: u64, holder: u64, lasti: usize, unit: u64, format: LineFormat) -> Layout {
    Layout {
        interpreters_head: 32,
        next_interpreter: 0,
        threads_head: 8,
        thread: Thread {
            next: 8,
            pointer: 176,
            native_id: None,
            on_delete_data: Some(208),
            current: CurrentFrame::Field(24),
            chunk_and_top: None,
        },
        frame: Frame {
            code: 32,
            previous: 24,
            position: Position::Index(lasti, unit),
            owner: None,
        },
        code: Code {
            first_line: 40,
            file: 104,
            name: 112,
            lines: 120,
            format,
            instructions: 0,
            has_opcode_names: false,
        },
        gil: Gil::Runtime { gil, holder },
        text: [48, 72],
    }
}

static V3_8: Layout = old(1152, 1368, 104, 1, LineFormat::Increments);
static V3_9: Layout = old(352, 568, 104, 1, LineFormat::Increments);
static V3_10: Layout = old(352, 568, 96, 2, LineFormat::Ranges);

static V3_11: Layout = Layout {
    interpreters_head: 40,
    next_interpreter: 0,
    threads_head: 16,
    thread: Thread {
        next: 8,
        pointer: 152,
        native_id: Some(160),
        on_delete_data: Some(192),
        current: CurrentFrame::CFrame(56, 8),
        chunk_and_top: Some([296, 304]),
    },
    frame: Frame {
        code: 32,
        previous: 48,
        position: Position::Pointer(56),
        owner: None,
    },
    code: Code {
        first_line: 72,
        file: 112,
        name: 128,
        lines: 136,
        format: LineFormat::Locations,
        instructions: 184,
        has_opcode_names: true,
    },
    gil: Gil::Runtime {
        gil: 360,
        holder: 576,
    },
    text: [48, 72],
};

static V3_12: Layout = Layout {
    interpreters_head: 40,
    next_interpreter: 0,
    threads_head: 72,
    thread: Thread {
        next: 8,
        pointer: 136,
        native_id: Some(144),
        on_delete_data: Some(176),
        current: CurrentFrame::CFrame(56, 0),
        chunk_and_top: Some([232, 240]),
    },
    frame: Frame {
        code: 0,
        previous: 8,
        position: Position::Pointer(56),
        owner: Some(70),
    },
    code: Code {
        first_line: 68,
        file: 112,
        name: 128,
        lines: 136,
        format: LineFormat::Locations,
        instructions: 192,
        has_opcode_names: false,
    },
    gil: Gil::Interpreter(384),
    text: [40, 56],
};

static V3_13: Layout = Layout {
    interpreters_head: 632,
    next_interpreter: 7264,
    threads_head: 7344,
    thread: Thread {
        next: 8,
        pointer: 152,
        native_id: Some(160),
        on_delete_data: None,
        current: CurrentFrame::Field(72),
        chunk_and_top: Some([232, 240]),
    },
    frame: Frame {
        code: 0,
        previous: 8,
        position: Position::Pointer(56),
        owner: Some(70),
    },
    code: Code {
        first_line: 68,
        file: 112,
        name: 128,
        lines: 136,
        format: LineFormat::Locations,
        instructions: 200,
        has_opcode_names: false,
    },
    gil: Gil::Interpreter(16),
    text: [40, 56],
};

static V3_14: Layout = Layout {
    interpreters_head: 808,
    next_interpreter: 7272,
    threads_head: 7344,
    thread: Thread {
        next: 8,
        pointer: 152,
        native_id: Some(160),
        on_delete_data: None,
        current: CurrentFrame::Field(72),
        chunk_and_top: Some([232, 240]),
    },
    frame: Frame {
        code: 0,
        previous: 8,
        position: Position::Pointer(56),
        owner: Some(74),
    },
    code: Code {
        first_line: 68,
        file: 112,
        name: 128,
        lines: 136,
        format: LineFormat::Locations,
        instructions: 208,
        has_opcode_names: false,
    },
    gil: Gil::Interpreter(16),
    text: [40, 56],
};
