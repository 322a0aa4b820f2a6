//! NVIDIA GPUs: the same bytes as [`super::Cpu`], and the same bits back.

pub mod bench;
mod buffer;
mod device_struct;
mod gpu;
mod graph;
mod hybrid;
mod hybrid_parts;
mod metrics;
mod profile;
mod pyramid;
mod reduce;
mod session;
mod transfer;

use super::device::Gpus;
use super::{Backend, Cpu, FrameInput, FrameShape, FrameSink, FrameSource, RegionSink, StageTimes};
use crate::transform::pyramid::frame::check_map;
use crate::{Coder, Control, Element, Error, ErrorKind, Mode, Params, Region, Result, ToleranceMap};
use buffer::Buffer;
use gpu::Gpu;
pub use hybrid::HuffmanDecoder;
use hybrid::Outcome;
use hybrid_parts::HybridParts;
use metrics::Comparing;
pub use metrics::{Figures, TierFigures};
use pyramid::{Team, Worker};
use session::{Kept, Session, locked};
use std::sync::{Mutex, MutexGuard};

/// One or more GPUs of this machine.
pub struct Cuda {
    gpus: Vec<Gpu>,
    /// One a device.
    sessions: Vec<Mutex<Session>>,
    /// Whether the CPU may take over what has no kernels, and what does not fit into the devices' memory.
    cpu_may_help: bool,
    cpu_when_short: bool,
}

impl Cuda {
    /// Opens the devices and loads the kernels.
    ///
    /// # Errors
    /// [`ErrorKind::Device`]: no driver, no such device, a device too old, or kernels that cannot be loaded.
    pub fn open(gpus: &Gpus) -> Result<Self> {
        Self::open_within(gpus, usize::MAX)
    }

    /// As [`Cuda::open`]; takes at most `bytes` of each device's memory.
    ///
    /// # Errors
    /// As there.
    pub fn open_within(gpus: &Gpus, bytes: usize) -> Result<Self> {
        let count = gpu::count()?;
        let ordinals: Vec<usize> = match gpus {
            Gpus::First => vec![0],
            Gpus::All => (0..count).collect(),
            Gpus::List(list) => list.clone(),
        };
        if let Some(missing) = ordinals.iter().find(|&&o| o >= count) {
            let message = format!("there is no GPU {missing}: this machine has {count}, counted from 0");
            return Err(Error::new(ErrorKind::Device, message).remedy("see nvidia-smi -L"));
        }
        let gpus = ordinals.into_iter().map(|o| Gpu::open(o, bytes)).collect::<Result<Vec<_>>>()?;
        let sessions = gpus.iter().map(|_| Mutex::default()).collect();
        Ok(Self { gpus, sessions, cpu_may_help: false, cpu_when_short: false })
    }

    /// Lets the CPU do the few things that have no kernels (the same bytes), instead of
    /// refusing them.
    pub fn with_cpu(self) -> Self {
        Self { cpu_may_help: true, ..self }
    }

    /// Lets the CPU take frames for which the devices are short of memory even in parts, instead of an error.
    pub fn with_cpu_when_short(self) -> Self {
        Self { cpu_when_short: true, ..self }
    }

    /// Decodes the Huffman payloads of the hybrid mode in one way, whichever should be faster: for tests and measurements.
    pub fn with_huffman(self, decoder: HuffmanDecoder) -> Self {
        self.sessions.iter().for_each(|session| locked(session).decoder = decoder);
        self
    }

    /// The CPU, for a frame that the kernels leave to it.
    fn stand_in(&self, what: &str) -> Result<Cpu> {
        let refused = || Error::new(ErrorKind::Device, format!("there are no GPU kernels for {what}"));
        if self.cpu_may_help { Ok(Cpu) } else { Err(refused().remedy("use --device auto or --device cpu")) }
    }

    /// Compares finite values of `n` nodes, C order, with their reconstruction, on the first device.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when lengths, extents and map do not fit, and those of the device.
    pub fn figures<T: Element>(
        &self,
        original: &[T],
        reconstructed: &[T],
        n: [usize; 3],
        map: &ToleranceMap,
    ) -> Result<Figures> {
        check_map(n, map)?;
        if [original, reconstructed].iter().any(|v| v.len() != n.iter().product::<usize>()) {
            return Err(Error::invalid(format!(
                "{} and {} values of {n:?} nodes",
                original.len(),
                reconstructed.len()
            )));
        }
        let gpu = &self.gpus[0];
        let (mut memory, mut comparing) = ([Buffer::default(), Buffer::default()], Comparing::default());
        comparing.prepare(gpu, map)?;
        let mut volumes = [0; 2];
        for ((address, memory), values) in volumes.iter_mut().zip(&mut memory).zip([original, reconstructed]) {
            *address = memory.reserve(gpu, size_of_val(values))?;
            // SAFETY: just reserved.
            unsafe { gpu.upload(*address, values)? };
        }
        // SAFETY: both volumes were sent, and checked above.
        unsafe { comparing.compare::<T>(gpu, volumes, n, map)? };
        comparing.figures(gpu, map)
    }

    /// Whether memory of a device was refused in the job at hand.
    fn is_short(&self) -> bool {
        self.gpus.iter().any(|gpu| gpu.account.was_short())
    }

    /// Largest |u| of finite values, found on the first device.
    pub fn max_abs<T: Element>(&self, values: &[T]) -> Result<T> {
        let gpu = &self.gpus[0];
        let (mut data, mut scratch) = (Buffer::default(), Buffer::default());
        let address = data.reserve(gpu, std::mem::size_of_val(values))?;
        // SAFETY: `address` was reserved for exactly these values.
        unsafe {
            gpu.upload(address, values)?;
            let result = reduce::queue_max_abs::<T>(gpu, &mut scratch, address, values.len())?;
            reduce::read_max_abs(gpu, result)
        }
    }
}

/// Lets `work` use all devices for a box of a frame of the pyramid; `None` when they are short of memory and the CPU may
/// take it. Nothing is handed out before all memory is there.
fn with_team<T: Kept>(
    cuda: &Cuda,
    (n, params): ([usize; 3], &Params),
    region: &Region,
    encode: bool,
    work: impl FnOnce(Team<T>) -> Result<()>,
) -> Result<Option<()>> {
    let mut sessions: Vec<_> = cuda.sessions.iter().map(locked).collect();
    for last_try in [false, true] {
        cuda.gpus.iter().for_each(|gpu| gpu.account.forgive());
        let worker = |(gpu, session)| {
            let (gpu, session): (&_, &mut MutexGuard<Session>) = (gpu, session);
            Ok(Worker { gpu, pyramid: session.pyramid::<T>(gpu, n, params)? })
        };
        let workers = cuda.gpus.iter().zip(&mut sessions).map(worker).collect::<Result<Vec<_>>>();
        match workers.and_then(|workers| Team::new(workers, region, encode)) {
            Ok(team) => return work(team).map(Some),
            Err(error) if !cuda.is_short() => return Err(error),
            Err(error) if last_try => return if cuda.cpu_when_short { Ok(None) } else { Err(error) },
            Err(_) => sessions.iter_mut().for_each(|session| session.clear()),
        }
    }
    Ok(None)
}

fn encode<T: Kept>(cuda: &Cuda, input: &FrameInput<T>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
    let n = input.field.extents();
    check_map(n, input.tolerance)?;
    if input.params.mode == Mode::Hybrid {
        return encode_hybrid(cuda, input, sink, control);
    }
    if let Some(what) = without_kernels(n, input.params) {
        return T::encode_on_cpu(&cuda.stand_in(what)?, input, sink, control);
    }
    let whole = Region { lo: [0; 3], hi: n };
    let work = |team: Team<T>| pyramid::encode_frame(team, input, sink, control);
    match with_team(cuda, (n, input.params), &whole, true, work)? {
        Some(()) => Ok(()),
        None => T::encode_on_cpu(&Cpu, input, sink, control),
    }
}

/// What the kernels leave to the CPU, if these pyramid frames of `n` nodes are among it.
fn without_kernels(n: [usize; 3], params: &Params) -> Option<&'static str> {
    match params.coder {
        Coder::Planes if params.tile != 8 || n.contains(&1) => {
            Some("the planes coder, but for tiles of 8 in three axes")
        }
        Coder::Groups if n.contains(&1) => Some("the groups coder, but for three axes"),
        _ => None,
    }
}

/// On the first device.
fn encode_hybrid<T: Kept>(
    cuda: &Cuda,
    input: &FrameInput<T>,
    sink: &mut dyn FrameSink,
    control: &Control,
) -> Result<()> {
    let n = input.field.extents();
    let what = match hybrid::refusal(n) {
        Some(what) => what,
        None => {
            let (gpu, mut session) = (&cuda.gpus[0], locked(&cuda.sessions[0]));
            gpu.account.forgive();
            let mut ms = 0.0;
            let hybrid = session.hybrid(gpu, n, input.params);
            match hybrid.and_then(|hybrid| hybrid::encode_frame(gpu, hybrid, input, sink, control, &mut ms)) {
                Ok(Outcome::Done) => {
                    session.hybrid_ms += ms;
                    return Ok(());
                }
                Ok(Outcome::LeftToCpu(what)) => what,
                Err(_) if cuda.is_short() && cuda.cpu_when_short => {
                    session.clear();
                    return T::encode_on_cpu(&Cpu, input, sink, control);
                }
                Err(error) => return Err(error),
            }
        }
    };
    T::encode_on_cpu(&cuda.stand_in(what)?, input, sink, control)
}

fn stage_times<T: Kept>(cuda: &Cuda, input: &FrameInput<T>) -> Result<StageTimes> {
    let n = input.field.extents();
    check_map(n, input.tolerance)?;
    let mut session = locked(&cuda.sessions[0]);
    let hybrid = session.hybrid(&cuda.gpus[0], n, input.params)?;
    hybrid::stage_times(&cuda.gpus[0], hybrid, input)
}

fn decode<T: Kept>(
    cuda: &Cuda,
    frame: &FrameShape,
    source: &dyn FrameSource,
    region: &Region,
    out: &dyn RegionSink<T>,
    control: &Control,
) -> Result<()> {
    if (0..3).any(|a| region.lo[a] > region.hi[a] || region.hi[a] > frame.n[a]) {
        return Err(Error::invalid(format!("box {:?}..{:?} is not inside {:?}", region.lo, region.hi, frame.n)));
    }
    if region.is_empty() {
        return Ok(());
    }
    check_map(frame.n, frame.tolerance)?;
    if frame.params.mode == Mode::Hybrid {
        return hybrid_parts::decode(&HybridParts { cuda, frame, source, out, control }, region);
    }
    if let Some(what) = without_kernels(frame.n, frame.params) {
        return T::decode_on_cpu(&cuda.stand_in(what)?, frame, source, region, out, control);
    }
    let work = |team: Team<T>| pyramid::decode_frame(team, frame, source, region, out, control);
    match with_team(cuda, (frame.n, frame.params), region, false, work)? {
        Some(()) => Ok(()),
        None => T::decode_on_cpu(&Cpu, frame, source, region, out, control),
    }
}

impl Backend for Cuda {
    fn describe(&self) -> String {
        let names: Vec<_> =
            self.gpus.iter().map(|g| format!("{}, {} multiprocessors", g.name, g.multiprocessors)).collect();
        names.join(" + ")
    }
    fn stage_times_f32(&self, input: &FrameInput<f32>, _control: &Control) -> Result<StageTimes> {
        stage_times(self, input)
    }
    fn stage_times_f64(&self, input: &FrameInput<f64>, _control: &Control) -> Result<StageTimes> {
        stage_times(self, input)
    }
    fn kernel_ms(&self) -> Option<f64> {
        Some(locked(&self.sessions[0]).hybrid_ms)
    }
    fn encode_f32(&self, input: &FrameInput<f32>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
        encode(self, input, sink, control)
    }
    fn encode_f64(&self, input: &FrameInput<f64>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
        encode(self, input, sink, control)
    }
    fn decode_f32(
        &self,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<f32>,
        control: &Control,
    ) -> Result<()> {
        decode(self, frame, source, region, out, control)
    }
    fn decode_f64(
        &self,
        frame: &FrameShape,
        source: &dyn FrameSource,
        region: &Region,
        out: &dyn RegionSink<f64>,
        control: &Control,
    ) -> Result<()> {
        decode(self, frame, source, region, out, control)
    }
}
