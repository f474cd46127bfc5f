//! Pieces one after the other, gone over by as many threads as there are processors.
//!
//! To go over records is to wait for memory: they are too long for the processor to foresee the
//! next one's place. Threads wait side by side. A file is read, not mapped: a buffer that is used
//! again and again stays in the cache, while every page of a mapping has to be entered into the
//! page table and taken out of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::piece::{End, MAX_PIECE, MAX_RECORD, Piece, Walker, guess};

/// How the work is shared out.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Bytes of a piece.
    pub piece: usize,
    /// Threads that help.
    pub helpers: usize,
}

/// Less than this is done before a thread is of use.
const LEAST: usize = 4 << 20;
/// So many pieces may be ready before they are asked for: the memory is bounded.
const AHEAD: usize = 12;
/// More threads than this have nothing to do: who puts the pieces together is not that fast.
const MAX_HELPERS: usize = 7;
/// Records are seldom smaller on average.
const USUAL_RECORD: usize = 64;
/// So many pieces of no more use are kept: more than two rounds have.
const KEPT: usize = 256;
/// The last record of a piece mostly ends not farther than this behind it.
const MORE: usize = 4 << 10;

impl Plan {
    /// For so many bytes of records.
    pub fn of(len: usize) -> Self {
        let processors = || std::thread::available_parallelism().map_or(1, |n| n.get());
        Self {
            piece: 256 << 10,
            helpers: if len < LEAST {
                0
            } else {
                (processors() - 1).min(MAX_HELPERS)
            },
        }
    }
}

/// Where the records are.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// In memory.
    Memory(&'a [u8]),
    /// In a file.
    File {
        /// The file.
        file: &'a File,
        /// Where in it the first record begins.
        begins: u64,
        /// Bytes of records.
        len: usize,
    },
}

/// A part of a file in memory.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    filled: usize,
}

impl<'a> Source<'a> {
    /// Bytes of all records.
    pub fn len(&self) -> usize {
        match self {
            Self::Memory(data) => data.len(),
            Self::File { len, .. } => *len,
        }
    }

    /// The bytes in the range, or up to the end; `more` says that the buffer has the first ones.
    fn bytes<'b>(
        &self,
        range: Range<usize>,
        buffer: &'b mut Buffer,
        more: bool,
    ) -> io::Result<&'b [u8]>
    where
        'a: 'b,
    {
        let range = range.start..range.end.min(self.len());
        match *self {
            Self::Memory(data) => Ok(data.get(range).unwrap_or_default()),
            Self::File { file, begins, .. } => {
                if !more {
                    buffer.filled = 0;
                }
                if buffer.bytes.len() < range.len() {
                    buffer.bytes.resize(range.len(), 0);
                }
                while buffer.filled < range.len() {
                    let place = begins + (range.start + buffer.filled) as u64;
                    let room = &mut buffer.bytes[buffer.filled..range.len()];
                    match file.read_at(room, place) {
                        // Somebody has cut the file.
                        Ok(0) => break,
                        Ok(n) => buffer.filled += n,
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                        Err(e) => return Err(e),
                    }
                }
                Ok(&buffer.bytes[..buffer.filled])
            }
        }
    }

    /// Goes over the piece of this number; if it is not known where its first record begins, a
    /// guess is made. A piece without a guess stays [`End::Unread`].
    fn read(
        &self,
        walker: &Walker<'_>,
        plan: Plan,
        number: usize,
        start: Option<usize>,
        work: (&mut Piece, &mut Buffer),
    ) -> io::Result<()> {
        let (piece, buffer) = work;
        let first = number * plan.piece;
        let limit = (first + plan.piece).min(self.len());
        let origin = start.unwrap_or(first);
        piece.clear(origin);
        piece.entries.reserve((limit - first) / USUAL_RECORD);
        let data = self.bytes(origin..limit + MORE, buffer, false)?;
        let known = if number == 0 { Some(0) } else { start };
        let Some(start) = known.or_else(|| guess(data, origin, first)) else {
            return Ok(());
        };
        piece.start = start;
        let mut at = self.walk(walker, data, origin, start, limit, piece);
        if piece.end == End::Unread {
            let data = self.bytes(origin..limit + MAX_RECORD, buffer, true)?;
            at = self.walk(walker, data, origin, at, limit, piece);
        }
        if piece.end == End::Unread {
            piece.end = End::NoRecord(at);
        }
        Ok(())
    }

    fn walk(
        &self,
        walker: &Walker<'_>,
        data: &[u8],
        origin: usize,
        from: usize,
        limit: usize,
        piece: &mut Piece,
    ) -> usize {
        // What is after the last record does not concern the last piece alone.
        let at = walker.walk(data, origin, from, limit, piece);
        if let End::Next(next) = piece.end
            && next >= self.len()
        {
            piece.end = End::NoRecord(next);
        }
        at
    }
}

/// What the threads share.
#[derive(Default)]
struct Shared {
    /// The next piece that nobody has begun with.
    free: usize,
    /// The piece that is wanted.
    wanted: usize,
    /// Pieces that are ready.
    ready: BTreeMap<usize, Piece>,
    /// Pieces of no more use.
    used: Vec<Piece>,
    ended: bool,
}

/// See the module's text.
pub struct Crew<'a> {
    source: Source<'a>,
    walker: Walker<'a>,
    plan: Plan,
    pieces: usize,
    shared: Mutex<Shared>,
    changed: Condvar,
}

/// What the one has who asks for the pieces.
pub struct Foreman<'c, 'a> {
    crew: &'c Crew<'a>,
    buffer: Buffer,
}

impl<'a> Crew<'a> {
    /// Does `work` while the others go over pieces.
    pub fn work<T>(
        source: Source<'a>,
        walker: Walker<'a>,
        plan: Plan,
        work: impl FnOnce(Foreman<'_, 'a>) -> T,
    ) -> T {
        let plan = Plan {
            piece: plan.piece.clamp(1, MAX_PIECE),
            ..plan
        };
        let crew = Self {
            source,
            walker,
            plan,
            pieces: source.len().div_ceil(plan.piece),
            shared: Mutex::default(),
            changed: Condvar::new(),
        };
        std::thread::scope(|scope| {
            let _end = Ended(&crew);
            for _ in 0..plan.helpers {
                // Without a thread it goes as well.
                let _ = std::thread::Builder::new().spawn_scoped(scope, || crew.help());
            }
            work(Foreman {
                crew: &crew,
                buffer: Buffer::default(),
            })
        })
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // Nobody leaves it half changed.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins with a piece, if there is one to begin with now.
    fn claim(&self, shared: &mut Shared) -> Option<(usize, Piece)> {
        let number = shared.free.max(shared.wanted);
        if number >= self.pieces || number > shared.wanted + AHEAD {
            return None;
        }
        shared.free = number + 1;
        Some((number, shared.used.pop().unwrap_or_default()))
    }

    /// Goes over a piece whose first record is not known; if that fails, who wants it will see.
    fn read_ahead(&self, number: usize, mut piece: Piece, buffer: &mut Buffer) -> Piece {
        let work = (&mut piece, buffer);
        let read = self
            .source
            .read(&self.walker, self.plan, number, None, work);
        if read.is_err() {
            piece.end = End::Unread;
        }
        piece
    }

    fn help(&self) {
        let mut buffer = Buffer::default();
        let mut shared = self.lock();
        while !shared.ended && shared.free < self.pieces {
            let Some((number, piece)) = self.claim(&mut shared) else {
                shared = self
                    .changed
                    .wait(shared)
                    .unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(shared);
            let mut promise = Promise {
                crew: self,
                number,
                piece: Some(Piece::default()),
            };
            promise.piece = Some(self.read_ahead(number, piece, &mut buffer));
            drop(promise);
            shared = self.lock();
        }
    }
}

/// Hands a piece in, also when to go over it panics: somebody waits for it.
struct Promise<'c, 'a> {
    crew: &'c Crew<'a>,
    number: usize,
    piece: Option<Piece>,
}

impl Drop for Promise<'_, '_> {
    fn drop(&mut self) {
        let piece = self.piece.take().unwrap_or_default();
        let mut shared = self.crew.lock();
        if self.number >= shared.wanted {
            shared.ready.insert(self.number, piece);
        } else {
            shared.used.push(piece);
        }
        drop(shared);
        self.crew.changed.notify_all();
    }
}

/// Sends the threads home, also when the work panics.
struct Ended<'c, 'a>(&'c Crew<'a>);

impl Drop for Ended<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.changed.notify_all();
    }
}

impl Foreman<'_, '_> {
    /// The piece that begins with the record at `at`, before the end of all.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn piece(&mut self, at: usize) -> io::Result<Piece> {
        let crew = self.crew;
        let number = at / crew.plan.piece;
        let mut shared = crew.lock();
        shared.wanted = number;
        // There is room for another one ahead.
        crew.changed.notify_all();
        while shared
            .ready
            .first_key_value()
            .is_some_and(|(&n, _)| n < number)
        {
            let passed = shared.ready.pop_first();
            shared.used.extend(passed.map(|(_, piece)| piece));
        }
        loop {
            if let Some(piece) = shared.ready.remove(&number) {
                drop(shared);
                return self.checked(number, at, piece);
            }
            if let Some((claimed, mut piece)) = crew.claim(&mut shared) {
                drop(shared);
                if claimed == number {
                    self.read(number, at, &mut piece)?;
                    return Ok(piece);
                }
                let piece = crew.read_ahead(claimed, piece, &mut self.buffer);
                shared = crew.lock();
                shared.ready.insert(claimed, piece);
                continue;
            }
            shared = crew
                .changed
                .wait(shared)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The piece if it begins where it should, else what is there.
    fn checked(&mut self, number: usize, at: usize, mut piece: Piece) -> io::Result<Piece> {
        if piece.start != at || piece.end == End::Unread {
            self.read(number, at, &mut piece)?;
        }
        Ok(piece)
    }

    fn read(&mut self, number: usize, at: usize, piece: &mut Piece) -> io::Result<()> {
        let crew = self.crew;
        let work = (piece, &mut self.buffer);
        crew.source
            .read(&crew.walker, crew.plan, number, Some(at), work)
    }

    /// Takes a piece back.
    pub fn used(&mut self, piece: Piece) {
        let mut shared = self.crew.lock();
        if shared.used.len() < KEPT {
            shared.used.push(piece);
        }
    }
}
