//! A frame from values on the host to bytes on the host, by one or several devices.

use super::super::gpu::failed;
use super::encode::Packed;
use super::slabs::{Team, Worker};
use crate::backend::{FrameInput, FrameSink};
use crate::transform::pyramid::{Real, coarse};
use crate::{Control, Error, Result};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What workers hand to the thread that writes.
enum Part {
    Coarse(Vec<u8>),
    Slab(usize, Packed),
}
type Message = Result<Part>;

/// Encodes one frame; the tolerance map fits its extents, and the team was made for it.
pub fn encode_frame<T: Real>(
    mut team: Team<T>,
    input: &FrameInput<T>,
    sink: &mut dyn FrameSink,
    control: &Control,
) -> Result<()> {
    let workers = &mut team.workers[..];
    if workers[0].pyramid.stages.len() == 1 {
        return workers[0].encode_alone(input, sink, control);
    }
    let slabs = workers[0].pyramid.slabs.slabs.len();
    let corners = workers[0].read_corners(input)?;
    let (step, corners) = (workers.len(), &corners[..]);
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for (first, worker) in workers.iter_mut().enumerate() {
            let sender = sender.clone();
            scope.spawn(move || {
                if let Err(error) = worker.encode(input, corners, (first, step), &sender, control) {
                    // The other end is gone when another worker has failed before.
                    let _ = sender.send(Err(error));
                }
            });
        }
        drop(sender);
        write_in_order(&receiver, slabs, sink)
    })
}

/// Hands parts to the sink in the order of the stream.
fn write_in_order(receiver: &Receiver<Message>, slabs: usize, sink: &mut dyn FrameSink) -> Result<()> {
    let mut early = BTreeMap::new();
    // The coarse part comes first.
    let mut next = None;
    while next != Some(slabs) {
        let part = receiver.recv().map_err(|_| Error::new(crate::ErrorKind::Device, "GPU: a worker ended early"))??;
        match part {
            Part::Coarse(bytes) => {
                sink.coarse(&bytes)?;
                next = Some(0);
            }
            Part::Slab(index, packed) => {
                early.insert(index, packed);
            }
        }
        while let Some(packed) = next.and_then(|index| early.remove(&index)) {
            packed.chunks().try_for_each(|chunk| sink.chunk(chunk))?;
            next = next.map(|index| index + 1);
        }
    }
    Ok(())
}

impl<T: Real> Worker<'_, T> {
    /// A frame that is its own last array.
    fn encode_alone(&mut self, input: &FrameInput<T>, sink: &mut dyn FrameSink, control: &Control) -> Result<()> {
        let (gpu, pyramid) = (self.gpu, &mut *self.pyramid);
        pyramid.begin(gpu, input.field)?;
        pyramid.send_tiers(gpu, input.tolerance, input.max_abs)?;
        pyramid.encode(gpu, input.params.points)?;
        sink.coarse(&self.collect_corners()?)?;
        let [nz, ny, nx] = input.field.extents();
        control.advance((nz * ny * nx * T::BYTES) as u64);
        Ok(())
    }

    /// Values of the first corner array.
    fn read_corners(&self, input: &FrameInput<T>) -> Result<Vec<T>> {
        let Some(plan) = &self.pyramid.stages[0].plan else { return Ok(Vec::new()) };
        let array = plan.array.corners();
        let mut values = vec![T::ZERO; array.len()];
        coarse::read_values(&array, input.field, &mut values)?;
        Ok(values)
    }

    /// Waits, and returns the coarse part.
    fn collect_corners(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.pyramid.collect(self.gpu)?.chunks().for_each(|chunk| coarse::append(&mut bytes, chunk));
        Ok(bytes)
    }

    /// Encodes the corner arrays, and every `step`-th slab from the `first`. While kernels work on a slab, the values of the
    /// next one travel.
    fn encode(
        &mut self,
        input: &FrameInput<T>,
        corners: &[T],
        (first, step): (usize, usize),
        sender: &Sender<Message>,
        control: &Control,
    ) -> Result<()> {
        let (gpu, points) = (self.gpu, input.params.points);
        gpu.bind()?;
        let slabs = self.pyramid.slabs.slabs.clone();
        let memory = self.pyramid.slabs.memory.each_ref().map(|m| m.address(gpu));
        // SAFETY: the memory has room for the largest slab, and the kernels that read it before are done.
        let send = |index: usize, turn: usize| unsafe { gpu.send(memory[turn % 2], input.field, &slabs[index].region) };
        let mut sent = Some(send(first, 0)?);
        let pyramid = &mut *self.pyramid;
        pyramid.take_corners(gpu, true)?;
        // SAFETY: reserved for the first corner array.
        unsafe { gpu.upload(pyramid.stages[1].source().address(gpu), corners)? };
        pyramid.send_tiers(gpu, input.tolerance, input.max_abs)?;
        pyramid.gather(gpu, 1, false)?;
        pyramid.encode_corners(gpu, points)?;
        if first == 0 && sender.send(Ok(Part::Coarse(self.collect_corners()?))).is_err() {
            return Ok(());
        }
        for (turn, index) in (first..slabs.len()).step_by(step).enumerate() {
            control.check()?;
            if let Some(event) = sent.take() {
                gpu.stream.wait(&event).map_err(failed("waiting for values"))?;
            }
            let pyramid = &mut *self.pyramid;
            pyramid.take_slab(gpu, index, true)?;
            pyramid.encode_slab(gpu, &slabs[index].region, memory[turn % 2], points)?;
            if index + step < slabs.len() {
                sent = Some(send(index + step, turn + 1)?);
            }
            let packed = pyramid.collect(gpu)?;
            control.advance((slabs[index].region.len() * T::BYTES) as u64);
            if sender.send(Ok(Part::Slab(index, packed))).is_err() {
                break;
            }
        }
        Ok(())
    }
}
