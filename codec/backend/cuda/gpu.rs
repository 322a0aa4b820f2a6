//! One NVIDIA GPU: context, stream, kernels and launches. Nothing here knows the codec.

use super::buffer::Account;
use super::profile::Profile;
use super::transfer::Ring;
use crate::{Error, ErrorKind, Result};
use cudarc::driver::result::stream;
use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaModule, CudaStream, DeviceRepr, DriverError, LaunchConfig, PushKernelArg,
    sys,
};
use cudarc::nvrtc;
use rayon::prelude::*;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

/// One `.cu` file as build.rs prepared it.
pub(super) struct Module {
    name: &'static str,
    /// Self-contained source for NVRTC.
    source: &'static str,
    /// Machine code and PTX, when nvcc was there at build time.
    fatbin: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The oldest compute capability that the kernels are written for.
const LOWEST_CAPABILITY: (i32, i32) = (8, 0);

/// A context on one device, with all kernels loaded.
pub(super) struct Gpu {
    /// Destroyed after the functions and buffers that live in it.
    pub context: Arc<CudaContext>,
    /// The stream of all kernels.
    pub stream: Arc<CudaStream>,
    /// The stream of kernels beside those: see [`Gpu::fork`].
    second: Arc<CudaStream>,
    /// The stream of kernels that take what those two leave: see [`Gpu::fork_behind`].
    background: Arc<CudaStream>,
    /// Where they part and meet, recorded anew each time: to make an event takes as long as some kernels.
    parted: CudaEvent,
    met: CudaEvent,
    /// The streams of the values of frames on their way to the device and back, so that copies and kernels overlap.
    pub copy_in: Arc<CudaStream>,
    pub copy_out: Arc<CudaStream>,
    pub(super) incoming: Mutex<Ring>,
    pub(super) outgoing: Mutex<Ring>,
    pub(super) account: Arc<Account>,
    /// With the text that names their kernels.
    modules: Vec<(&'static str, Arc<CudaModule>)>,
    /// With the dynamic shared memory that each may ask for so far.
    functions: Mutex<HashMap<&'static str, (CudaFunction, usize)>>,
    pub(super) profile: Profile,
    pub name: String,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of shared memory that a block may ask for, and that there are.
    pub shared_per_block: usize,
    pub shared_per_multiprocessor: usize,
}

/// Turns a driver error into ours.
pub(super) fn failed(what: &str) -> impl Fn(DriverError) -> Error + '_ {
    move |error| {
        let text = error.error_string().ok().map(|s| s.to_string_lossy().into_owned());
        Error::new(
            ErrorKind::Device,
            format!("GPU: {what}: {}", text.unwrap_or_else(|| format!("error {:?}", error.0))),
        )
    }
}

/// Number of GPUs, or why none can be used.
pub(super) fn count() -> Result<usize> {
    let none =
        |message: &str| Error::new(ErrorKind::Device, message).remedy("install NVIDIA's driver, or use --device cpu");
    // SAFETY: only tries to open the library.
    if !unsafe { sys::is_culib_present() } {
        return Err(none("no NVIDIA driver on this machine"));
    }
    let count = CudaContext::device_count().map_err(failed("counting devices"))?;
    if count < 1 {
        return Err(none("the NVIDIA driver sees no GPU"));
    }
    Ok(count as usize)
}

impl Gpu {
    /// Opens device `ordinal` (below [`count`]) and loads every kernel. At most `limit` bytes of its memory are taken.
    pub fn open(ordinal: usize, limit: usize) -> Result<Self> {
        let context = CudaContext::new(ordinal).map_err(failed("opening the device"))?;
        let name = context.name().map_err(failed("reading the device's name"))?;
        let capability = context.compute_capability().map_err(failed("reading the compute capability"))?;
        if capability < LOWEST_CAPABILITY {
            let message =
                format!("{name} has compute capability {}.{}, the kernels need 8.0", capability.0, capability.1);
            return Err(Error::new(ErrorKind::Device, message).remedy("use --device cpu"));
        }
        // SAFETY: every cross-stream dependency of this backend is expressed by its own events.
        unsafe { context.disable_event_tracking() };
        let new_stream = || context.new_stream().map_err(failed("creating a stream"));
        let (background, copy_in, copy_out) = (new_stream()?, new_stream()?, new_stream()?);
        let (_, first) = stream::get_priority_range().map_err(failed("reading the priorities of streams"))?;
        let new_first = || context.new_stream_with_priority(first).map_err(failed("creating a stream"));
        let (stream, second) = (new_first()?, new_first()?);
        let new_event = || context.new_event(None).map_err(failed("creating an event"));
        let (parted, met) = (new_event()?, new_event()?);
        let loaded = |m: &'static Module| Ok((m.source, load(&context, m, capability)?));
        // where NVRTC compiles them, one after the other takes a minute and a half
        let modules = MODULES.par_iter().map(loaded).collect::<Result<_>>()?;
        let attribute = |which| {
            context
                .attribute(which)
                .map_err(failed("reading the device's properties"))
                .map(|value| value.max(0) as usize)
        };
        let multiprocessors = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32;
        let shared_per_block =
            attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let shared_per_multiprocessor =
            attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?;
        Ok(Self {
            context,
            stream,
            second,
            background,
            parted,
            met,
            copy_in,
            copy_out,
            incoming: Mutex::default(),
            outgoing: Mutex::default(),
            account: Arc::new(Account::new(limit)),
            modules,
            functions: Mutex::default(),
            profile: Profile::default(),
            name,
            multiprocessors,
            shared_per_block,
            shared_per_multiprocessor,
        })
    }

    /// The kernel `name`, with its limit of dynamic shared memory raised to `shared_bytes`.
    pub fn kernel(&self, name: &'static str, shared_bytes: usize) -> Result<CudaFunction> {
        let mut functions = self.functions.lock().unwrap_or_else(|e| e.into_inner());
        let (function, limit) = match functions.get(name) {
            Some((function, limit)) => (function.clone(), *limit),
            None => {
                let declaration = format!(" {name}(const ");
                let missing = || Error::new(ErrorKind::Device, format!("GPU: kernel {name} is missing"));
                let (_, module) =
                    self.modules.iter().find(|(text, _)| text.contains(&declaration)).ok_or_else(missing)?;
                (module.load_function(name).map_err(failed(name))?, 48 * 1024)
            }
        };
        if shared_bytes > limit {
            let limit = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            function.set_attribute(limit, shared_bytes as i32).map_err(failed("raising the shared memory limit"))?;
        }
        functions.insert(name, (function.clone(), limit.max(shared_bytes)));
        Ok(function)
    }

    /// Queues `kernel(arguments)` on the stream. A kernel takes one struct, laid out as in its `.cuh`.
    ///
    /// # Safety
    /// `arguments` must have the layout that the kernel declares, and its pointers must cover what the kernel touches.
    pub unsafe fn launch<A: DeviceRepr>(
        &self,
        kernel: &'static str,
        grid: u32,
        block: u32,
        shared: usize,
        arguments: &A,
    ) -> Result<()> {
        // SAFETY: the caller vouches for the arguments.
        unsafe { self.launch_on(&self.stream, kernel, grid, block, shared, arguments) }
    }

    /// The same for a kernel that may start before the one queued before it is done, and waits for that one by itself: what it does before must not
    /// depend on it. Where a device or a module cannot, it starts behind that one.
    ///
    /// # Safety
    /// As [`Gpu::launch`]; no kernel that is still at work may write what it reads before it waits.
    pub unsafe fn launch_early<A: DeviceRepr>(
        &self,
        kernel: &'static str,
        grid: u32,
        block: u32,
        shared: usize,
        arguments: &A,
    ) -> Result<()> {
        let function = self.kernel(kernel, shared)?;
        if grid == 0 || self.is_profiling() || !waits_by_itself(&function) {
            // SAFETY: the caller vouches for the arguments.
            return unsafe { self.launch(kernel, grid, block, shared, arguments) };
        }
        let mut early = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: Default::default(),
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let config = sys::CUlaunchConfig {
            gridDimX: grid,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: block,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: shared as u32,
            hStream: self.stream.cu_stream(),
            attrs: &mut early,
            numAttrs: 1,
        };
        let mut parameters = [(arguments as *const A).cast_mut().cast::<c_void>()];
        self.bind()?;
        // SAFETY: the caller vouches for the arguments, which the driver copies before it returns.
        let queued = unsafe {
            sys::cuLaunchKernelEx(&config, function.cu_function(), parameters.as_mut_ptr(), std::ptr::null_mut())
        };
        queued.result().map_err(failed(kernel))
    }

    /// A stream for work beside what is queued on the stream of all kernels from now on, until [`Gpu::join`]. While kernels are timed one by
    /// one it is that stream itself.
    pub fn fork(&self) -> Result<Arc<CudaStream>> {
        self.fork_to(&self.second)
    }

    /// The same for work whose blocks start where those of the other two streams leave room.
    pub fn fork_behind(&self) -> Result<Arc<CudaStream>> {
        self.fork_to(&self.background)
    }

    fn fork_to(&self, other: &Arc<CudaStream>) -> Result<Arc<CudaStream>> {
        if self.is_profiling() {
            return Ok(self.stream.clone());
        }
        self.parted.record(&self.stream).map_err(failed("recording an event"))?;
        other.wait(&self.parted).map_err(failed("ordering streams"))?;
        Ok(other.clone())
    }

    /// What is queued from now on waits for `forked` as well.
    pub fn join(&self, forked: &CudaStream) -> Result<()> {
        self.met.record(forked).map_err(failed("recording an event"))?;
        self.stream.wait(&self.met).map_err(failed("ordering streams"))
    }

    /// [`Gpu::launch`] on another stream.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn launch_on<A: DeviceRepr>(
        &self,
        stream: &CudaStream,
        kernel: &'static str,
        grid: u32,
        block: u32,
        shared: usize,
        arguments: &A,
    ) -> Result<()> {
        if grid == 0 {
            return Ok(());
        }
        let function = self.kernel(kernel, shared)?;
        let config = LaunchConfig { grid_dim: (grid, 1, 1), block_dim: (block, 1, 1), shared_mem_bytes: shared as u32 };
        self.observed(kernel, || {
            // SAFETY: the caller vouches for the arguments.
            unsafe { stream.launch_builder(&function).arg(arguments).launch(config) }.map_err(failed(kernel))?;
            Ok(())
        })
    }

    /// Makes the device that of the calling thread.
    pub fn bind(&self) -> Result<()> {
        self.context.bind_to_thread().map_err(failed("using the device"))
    }

    /// Waits for all kernels queued so far.
    pub fn finish(&self) -> Result<()> {
        self.stream.synchronize().map_err(failed("running the kernels"))
    }
}

/// Whether a kernel was compiled for devices that let it start early, so that it has the instruction by which it waits.
fn waits_by_itself(function: &CudaFunction) -> bool {
    let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION;
    function.get_attribute(attribute).is_ok_and(|version| version >= 90)
}

/// Loads the embedded machine code; where the driver is too old for it, compiles the source with the NVRTC found there.
fn load(context: &Arc<CudaContext>, module: &Module, (major, minor): (i32, i32)) -> Result<Arc<CudaModule>> {
    let refused = match module.fatbin {
        Some(image) => match context.load_module(nvrtc::Ptx::from_binary(image.to_vec())) {
            Ok(loaded) => return Ok(loaded),
            Err(error) => failed(&format!("loading the kernels of {}", module.name))(error).message,
        },
        None => "this build has no compiled kernels".into(),
    };
    // SAFETY: only tries to open the library.
    if !unsafe { nvrtc::sys::is_culib_present() } {
        let remedy = "use a driver of CUDA 13 (580 or newer), install NVRTC, or use --device cpu";
        return Err(Error::new(ErrorKind::Device, format!("{refused}, and NVRTC is not installed")).remedy(remedy));
    }
    let options = nvrtc::CompileOptions {
        fmad: Some(false),
        options: vec![
            format!("--gpu-architecture=compute_{major}{minor}"),
            "--std=c++17".into(),
            // NVRTC, unlike nvcc, takes a lambda inside a kernel for host code unless told.
            "--device-as-default-execution-space".into(),
        ],
        name: Some(format!("{}.cu", module.name)),
        ..Default::default()
    };
    let ptx = nvrtc::compile_ptx_with_opts(module.source, options).map_err(|error| {
        let log = match &error {
            nvrtc::CompileError::CompileError { log, .. } => log.to_string_lossy().into_owned(),
            other => format!("{other:?}"),
        };
        Error::new(ErrorKind::Device, format!("{refused}, and NVRTC cannot compile them: {log}"))
            .remedy("use --device cpu")
    })?;
    context.load_module(ptx).map_err(failed(&format!("loading the kernels of {}", module.name)))
}
