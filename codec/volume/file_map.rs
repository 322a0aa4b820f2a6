//! Files mapped into memory that may be shortened by another program while they are read.
//!
//! A page behind the end of its file cannot be read: the system answers with SIGBUS, which would end the program and the user's
//! work with it. Here a handler puts zeros in the place of such pages and notes that the map has lost its file; whoever read
//! asks afterwards ([`intact`], [`whole`]) and gets an error instead of wrong values. Reading costs nothing more than from any map.

use crate::{Error, Result};
use memmap2::Mmap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
#[cfg(unix)]
use watch as system;

/// A read-only map of a file; clones share it.
#[derive(Clone)]
pub struct FileMap(Arc<Watched>);

struct Watched {
    map: Mmap,
    #[cfg(unix)]
    watch: system::Handle,
}

impl FileMap {
    /// Maps the file at `path`.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io(path, &e))?;
        Self::of(file, &path.display().to_string()).map_err(|e| Error::io(path, &e))
    }

    /// Maps an open file; `name` is what errors call it.
    pub fn of(file: File, name: &str) -> std::io::Result<Self> {
        // SAFETY: the map is read-only. Bytes that another program changes are read as they are then; where it shortens the
        // file, see the module (on Windows the system refuses to shorten a mapped file).
        let map = unsafe { Mmap::map(&file) }?;
        #[cfg(unix)]
        let watch = system::Handle::new(&map, file, name);
        #[cfg(not(unix))]
        let _ = name;
        Ok(Self(Arc::new(Watched {
            map,
            #[cfg(unix)]
            watch,
        })))
    }
}

impl AsRef<[u8]> for FileMap {
    fn as_ref(&self) -> &[u8] {
        &self.0.map
    }
}

#[cfg(unix)]
impl Drop for Watched {
    fn drop(&mut self) {
        // Before the pages are given back and may become another map's.
        self.watch.end();
    }
}

/// Whether everything read so far from `bytes` was there. Costs next to nothing: for after each read of a row.
///
/// # Errors
/// [`crate::ErrorKind::Truncated`] when `bytes` lie in a map whose file turned out to be shorter.
pub fn intact(bytes: &[u8]) -> Result<()> {
    #[cfg(unix)]
    return system::intact(bytes);
    #[cfg(not(unix))]
    {
        let _ = bytes;
        Ok(())
    }
}

/// As [`intact`], and asks the system for the file's length: the last page of a file reads as zeros without a signal. For after
/// a pass.
pub fn whole(bytes: &[u8]) -> Result<()> {
    #[cfg(unix)]
    return system::whole(bytes);
    #[cfg(not(unix))]
    {
        let _ = bytes;
        Ok(())
    }
}

#[cfg(unix)]
mod watch {
    use crate::{Error, Result};
    use std::fs::File;
    use std::ptr::{null, null_mut};
    use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*, fence};
    use std::sync::{Mutex, Once, OnceLock, PoisonError};

    /// What a signal handler may read of a map: atomics alone, in memory that is never given back.
    struct Watch {
        /// Odd while `start` and `end` change, which they do between maps only.
        version: AtomicUsize,
        start: AtomicUsize,
        /// 0: free for the next map.
        end: AtomicUsize,
        lost: AtomicBool,
        file: Mutex<Option<(File, String)>>,
        next: *const Watch,
    }

    // SAFETY: `next` is written before the watch is published and points to one that lives for ever.
    unsafe impl Sync for Watch {}

    static FIRST: AtomicPtr<Watch> = AtomicPtr::new(null_mut());
    /// Whether any map has lost its file, ever.
    static LOST: AtomicBool = AtomicBool::new(false);
    static PAGE: AtomicUsize = AtomicUsize::new(4096);
    static FORMER: OnceLock<libc::sigaction> = OnceLock::new();
    /// Held by those who change the list.
    static CHANGING: Mutex<()> = Mutex::new(());

    fn all() -> impl Iterator<Item = &'static Watch> {
        // SAFETY: watches live for ever.
        let of = |at: *const Watch| unsafe { at.as_ref() };
        std::iter::successors(of(FIRST.load(Acquire)), move |w| of(w.next))
    }

    impl Watch {
        fn set(&self, start: usize, end: usize) {
            self.version.fetch_add(1, AcqRel);
            fence(SeqCst);
            self.start.store(start, Relaxed);
            self.end.store(end, Relaxed);
            fence(SeqCst);
            self.version.fetch_add(1, AcqRel);
        }
        /// The end of the map that holds `address`, if this one does.
        fn end_around(&self, address: usize) -> Option<usize> {
            let version = self.version.load(SeqCst);
            let (start, end) = (self.start.load(SeqCst), self.end.load(SeqCst));
            let steady = version.is_multiple_of(2) && self.version.load(SeqCst) == version;
            (steady && (start..end).contains(&address)).then_some(end)
        }
        fn error(&self) -> Error {
            let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            let name = file.as_ref().map_or("the file", |(_, name)| name);
            Error::truncated(format!("{name} became shorter while it was open"))
                .remedy("open it again when it is whole")
        }
    }

    /// A map's entry in the list.
    pub struct Handle(&'static Watch);

    impl Handle {
        pub fn new(map: &[u8], file: File, name: &str) -> Self {
            install();
            let _turn = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
            let free = all().find(|w| w.end.load(SeqCst) == 0);
            let watch = free.unwrap_or_else(|| {
                let watch = Box::leak(Box::new(Watch {
                    version: AtomicUsize::new(0),
                    start: AtomicUsize::new(0),
                    end: AtomicUsize::new(0),
                    lost: AtomicBool::new(false),
                    file: Mutex::new(None),
                    next: FIRST.load(Acquire),
                }));
                FIRST.store(watch, Release);
                watch
            });
            watch.lost.store(false, SeqCst);
            *watch.file.lock().unwrap_or_else(PoisonError::into_inner) = Some((file, name.to_owned()));
            let start = map.as_ptr() as usize;
            watch.set(start, start + map.len().next_multiple_of(PAGE.load(Relaxed)));
            Self(watch)
        }
        pub fn end(&self) {
            let _turn = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
            self.0.set(0, 0);
            *self.0.file.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    pub fn intact(bytes: &[u8]) -> Result<()> {
        if !LOST.load(Acquire) {
            return Ok(());
        }
        match all().find(|w| w.end_around(bytes.as_ptr() as usize).is_some()) {
            Some(watch) if watch.lost.load(Acquire) => Err(watch.error()),
            _ => Ok(()),
        }
    }

    pub fn whole(bytes: &[u8]) -> Result<()> {
        intact(bytes)?;
        let start = bytes.as_ptr() as usize;
        let Some(watch) = all().find(|w| w.end_around(start).is_some()) else { return Ok(()) };
        let needed = (start + bytes.len()).saturating_sub(watch.start.load(SeqCst)) as u64;
        let file = watch.file.lock().unwrap_or_else(PoisonError::into_inner);
        let there = file.as_ref().and_then(|(file, _)| file.metadata().ok()).map_or(needed, |m| m.len());
        drop(file);
        if there < needed { Err(watch.error()) } else { Ok(()) }
    }

    fn install() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: plain questions to the system, and a handler that keeps to what handlers may do.
            unsafe {
                if let Ok(page) = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)) {
                    PAGE.store(page, SeqCst);
                }
                let mut action: libc::sigaction = std::mem::zeroed();
                let mut former: libc::sigaction = std::mem::zeroed();
                action.sa_sigaction = on_bus_error as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                if libc::sigaction(libc::SIGBUS, &action, &mut former) == 0 {
                    let _ = FORMER.set(former);
                }
            }
        });
    }

    extern "C" fn on_bus_error(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the system hands a valid `info` to handlers installed with SA_SIGINFO.
        let address = unsafe { (*info).si_addr() } as usize;
        if zeros_from(address) {
            return;
        }
        // None of our maps: the access is repeated and meets the handler that was there before.
        // SAFETY: `sigaction` may be called in handlers.
        unsafe {
            let ended: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGBUS, FORMER.get().unwrap_or(&ended), null_mut());
        }
    }

    /// Zeros in the place of the rest of the map that holds `address`, so that the access can be repeated.
    fn zeros_from(address: usize) -> bool {
        let Some((watch, end)) = all().find_map(|w| Some((w, w.end_around(address)?))) else { return false };
        let page = address & !(PAGE.load(Relaxed) - 1);
        watch.lost.store(true, SeqCst);
        LOST.store(true, SeqCst);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED;
        // SAFETY: the pages are those of a map that the faulting thread is reading, so it is alive; they stay readable.
        let placed = unsafe { libc::mmap(page as *mut libc::c_void, end - page, libc::PROT_READ, flags, -1, 0) };
        !std::ptr::eq(placed, libc::MAP_FAILED) && !std::ptr::eq(placed.cast_const(), null())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::ErrorKind;

    const PAGE: usize = 4096;

    fn file_of(bytes: usize) -> (tempfile::NamedTempFile, FileMap) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7u8; bytes]).unwrap();
        let map = FileMap::open(file.path()).unwrap();
        (file, map)
    }

    #[test]
    fn a_file_shortened_while_it_is_mapped_is_an_error_and_not_the_end() {
        let (file, map) = file_of(64 * PAGE);
        let (_other, intact_one) = file_of(8 * PAGE);
        assert!(intact(map.as_ref()).is_ok() && whole(map.as_ref()).is_ok());
        file.as_file().set_len(3 * PAGE as u64).unwrap();
        // What is still there is read as it is.
        assert_eq!(map.as_ref()[3 * PAGE - 1], 7);
        assert_eq!(map.as_ref()[40 * PAGE], 0);
        let error = intact(map.as_ref()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Truncated);
        assert!(error.message.contains(&file.path().display().to_string()), "{error}");
        assert!(whole(map.as_ref()).is_err());
        assert!(intact(intact_one.as_ref()).is_ok() && intact(b"elsewhere").is_ok());
    }

    #[test]
    fn a_file_shortened_within_its_last_page_is_noticed_after_the_pass() {
        let (file, map) = file_of(2 * PAGE);
        file.as_file().set_len(2 * PAGE as u64 - 8).unwrap();
        assert_eq!(map.as_ref()[2 * PAGE - 1], 0, "no signal, and no value either");
        assert!(whole(map.as_ref()).is_err());
    }

    #[test]
    fn many_threads_may_meet_the_end_at_once() {
        let (file, map) = file_of(256 * PAGE);
        file.as_file().set_len(0).unwrap();
        let bytes = map.as_ref();
        std::thread::scope(|scope| {
            for t in 0..8 {
                scope.spawn(move || assert!(bytes.iter().skip(t * 32 * PAGE).step_by(PAGE).all(|b| *b == 0)));
            }
        });
        assert!(intact(bytes).is_err());
    }
}
