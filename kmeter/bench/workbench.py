"""What the benchmarks of one process share: the card, its context, its roofs, its telemetry."""

from dataclasses import dataclass, field, replace

from kmeter.errors import KmeterError, NoGpuError
from kmeter.measure.cuda_context import CudaContext, CudaError
from kmeter.measure.engines.kernels import EngineKernels, engine_kernels
from kmeter.model.benchmark import CacheState, Roofs
from kmeter.model.card import Card, Machine
from kmeter.model.ceiling import DRAM_CEILINGS, CeilingRun, best, ceilings_of_unit
from kmeter.model.peaks import peaks

_ENOUGH_FREE = 0.5


@dataclass
class Workbench:
    """A card, or none. The context is made when something first needs it."""

    machine: Machine | None
    no_gpu_reason: str = ""
    ordinal: int = 0
    """In this process."""
    ceilings: CeilingRun | None = None
    event_overheads_s: dict[CacheState, float] = field(default_factory=dict)
    """An event pair's own cost after each kind of flush, as far as it was measured."""
    _context: CudaContext | None = field(default=None, init=False)

    @property
    def card(self) -> Card | None:
        return self.machine.cards[0] if self.machine else None

    def context(self) -> CudaContext:
        """The primary context, current; raises NoGpuError without a GPU."""
        if self.machine is None:
            raise NoGpuError(f"this benchmark needs a GPU: {self.no_gpu_reason}")
        if self._context is None:
            self._context = CudaContext(self.ordinal)
        self._context.make_current()
        return self._context

    def context_or_none(self) -> CudaContext | None:
        """The context where there is a GPU."""
        return None if self.machine is None else self.context()

    def kernels(self) -> EngineKernels:
        """The engines' own kernels, loaded once."""
        return engine_kernels(self.context())

    @property
    def is_used(self) -> bool:
        """Whether something needed the context."""
        return self._context is not None

    def settle(self) -> None:
        """Wait for the GPU, where it is used; raises CudaError for what went wrong in it."""
        if self._context is not None:
            self._context.make_current()
            self._context.synchronize()

    @property
    def is_crowded(self) -> bool:
        """Whether less than half of the GPU's memory is free, or the host's alone is used."""
        return self._context is None or self.context().free_share() < _ENOUGH_FREE

    def broken(self) -> CudaError | None:
        """The error that has ended the context; None while it lives or was never made."""
        if self.machine is None:
            return None
        try:
            self.context().synchronize()
        except CudaError as error:
            return error if error.is_sticky else None
        except KmeterError:
            return None
        return None

    def roofs(self, unit: str | None, peak_tflops: float | None) -> Roofs:
        """What bounds a kernel on this card: its peaks, and what was measured on it."""
        card = self.card
        if card is None:
            return Roofs(reason=self.no_gpu_reason, unit=unit or "fp32")
        judged = unit or "fp32"
        found = peaks(card.device)
        rate, dram = found.flop_per_s[judged], found.dram_bytes_per_s
        roofs = Roofs(
            device_name=card.device.name,
            dram_bytes_per_s=dram.value,
            flop_per_s=rate.value,
            unit=judged,
            unit_is_assumed=unit is None,
            clock_hz=rate.clock_hz,
            reason="; ".join(q.reason for q in (dram, rate) if q.value is None),
        )
        if peak_tflops is not None:
            given = peak_tflops * 1e12
            roofs = replace(
                roofs, flop_per_s=given, clock_hz=None, unit_is_assumed=False, unit=unit or "given"
            )
        return self._with_ceilings(roofs, judged)

    def _with_ceilings(self, roofs: Roofs, unit: str) -> Roofs:
        if self.ceilings is None:
            return roofs
        dram = best(self.ceilings, DRAM_CEILINGS)
        compute = best(self.ceilings, ceilings_of_unit(unit))
        return replace(
            roofs,
            measured_dram_bytes_per_s=dram.value if dram else None,
            measured_flop_per_s=compute.value if compute else None,
        )


def opened(device: str) -> Workbench:
    """The card of that name, or none and the reason."""
    from kmeter.sources._ceilings import saved_ceilings
    from kmeter.sources.cuda import open_machine

    try:
        machine = open_machine(device)
    except NoGpuError as error:
        return Workbench(None, error.message)
    card = machine.cards[0]
    try:
        ceilings = saved_ceilings(card.uuid)
    except KmeterError:
        ceilings = None
    return Workbench(machine, ordinal=card.ordinal or 0, ceilings=ceilings)
