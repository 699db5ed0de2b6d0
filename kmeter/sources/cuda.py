"""The GPUs of this machine: CUDA's facts and NVML's, joined at the UUID or the PCI bus id."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kmeter.errors import NoGpuError, UnknownTargetError
from kmeter.model.card import Card, Fact, Identity, Machine
from kmeter.model.device import Device, Source
from kmeter.sources._device_of_card import CardReading, CudaFacts, card_of
from kmeter.sources._libcuda import DriverCallError, Libcuda, version_text
from kmeter.sources._nvml import GPU_LOST, Nvml, decoded
from kmeter.sources._readings import FIELDS, NVLINK_FIELD, SLICE_ONLY, read_field, read_fields


def open_device(name: str) -> Device:
    """The GPU with this ordinal, UUID (or its beginning) or PCI bus id.

    Raises NoGpuError without a driver or GPU, UnknownTargetError for a name that fits none.
    """
    return open_machine(name).cards[0].device


def open_machine(name: str) -> Machine:
    """The one GPU of that name, with the versions of what told about it."""
    driver, nvml = Libcuda(), Nvml()
    ordinal = _ordinal(driver, name or "0")
    return _machine(driver, nvml, [ordinal])


def machine() -> Machine:
    """Every GPU that this process sees, in CUDA's order.

    Raises NoGpuError without a driver or GPU.
    """
    driver, nvml = Libcuda(), Nvml()
    return _machine(driver, nvml, range(driver.device_count()))


def _machine(driver: Libcuda, nvml: Nvml, ordinals: Iterable[int]) -> Machine:
    return Machine(
        cards=tuple(card_of(read_card(driver, nvml, n), f"cuda:{n}", n) for n in ordinals),
        driver_version=_system(nvml, "nvmlSystemGetDriverVersion"),
        cuda_version=Fact(version_text(driver.driver_version()), Source.DRIVER),
        nvml_version=_nvml_version(nvml),
    )


def _nvml_version(nvml: Nvml) -> Fact:
    if nvml.unavailable:
        return Fact(reason=nvml.unavailable)
    return _system(nvml, "nvmlSystemGetNVMLVersion")


def nvml_handle(nvml: Nvml, name: str) -> Any:
    """NVML's handle of the GPU of that name; None where it does not know it."""
    driver = Libcuda()
    return _nvml_handle(nvml, _read_cuda(driver, _ordinal(driver, name or "0"))).value


def record(name: str, *, redact: bool) -> str:
    """The GPU as the text of a recording; ``redact`` leaves out what identifies it."""
    from kmeter.sources._recording import recording_of, text_of

    driver, nvml = Libcuda(), Nvml()
    reading = read_card(driver, nvml, _ordinal(driver, name))
    versions = (
        _system(nvml, "nvmlSystemGetDriverVersion").value,
        version_text(driver.driver_version()),
    )
    return text_of(recording_of(reading, *versions, redact=redact))


def identity_named(found: Sequence[Identity], name: str) -> Identity:
    """The one of ``identities()`` with this ordinal, UUID (or its beginning) or PCI bus id.

    Raises UnknownTargetError for a name that fits none of those that CUDA sees, or several.
    """
    ordinal = _ordinal(Libcuda(), name.removeprefix("cuda:"))
    return next(identity for identity in found if identity.ordinal == ordinal)


def identities() -> tuple[Identity, ...]:
    """The GPUs that CUDA sees, then those that only NVML sees.

    Raises NoGpuError where neither sees any.
    """
    return tuple(devices_by_identity())


def devices_by_identity() -> dict[Identity, Device | None]:
    """The same GPUs with what is known of their limits: nothing where only NVML sees one."""
    nvml = Nvml()
    try:
        seen = {_identity(card): card.device for card in machine().cards}
    except NoGpuError:
        seen = {}
        if not _nvml_count(nvml):
            raise
    known = {identity.nvml_index for identity in seen}
    others = [_hidden_identity(nvml, n) for n in range(_nvml_count(nvml)) if n not in known]
    found = {_numbered(identity, others): device for identity, device in seen.items()}
    uuids = {identity.uuid for identity in found if identity.uuid}
    return {**found, **{other: None for other in others if other.uuid not in uuids}}


def _numbered(identity: Identity, others: Sequence[Identity]) -> Identity:
    """With NVML's number also where the GPU is lost, and does not say it of itself."""
    if identity.nvml_index is not None or identity.uuid is None:
        return identity
    same = (other.nvml_index for other in others if other.uuid == identity.uuid)
    return identity._replace(nvml_index=next(same, None))


def _identity(card: Card) -> Identity:
    return Identity(
        ordinal=card.ordinal,
        nvml_index=card.fact("nvml_index").value,
        pci_bus_id=card.pci_bus_id,
        uuid=card.uuid,
        name=card.device.name,
        mig=card.fact("mig").value,
        lost=card.lost,
    )


def _hidden_identity(nvml: Nvml, index: int) -> Identity:
    handle = nvml.read("nvmlDeviceGetHandleByIndex", index)
    if handle.reason:
        return Identity(None, index, None, None, None, None, lost=handle.reason)
    pci = nvml.read("nvmlDeviceGetPciInfo", handle.value)
    uuid = nvml.read("nvmlDeviceGetUUID", handle.value)
    mig = read_field(nvml, handle.value, "mig")
    return Identity(
        ordinal=None,
        nvml_index=index,
        pci_bus_id=short_bus_id(decoded(pci.value.busId) or "") if pci.value else None,
        uuid=decoded(uuid.value),
        name=decoded(nvml.read("nvmlDeviceGetName", handle.value).value),
        mig=mig.value,
        lost=GPU_LOST if GPU_LOST in {pci.reason, uuid.reason, mig.reason} else "",
    )


def _nvml_count(nvml: Nvml) -> int:
    return nvml.read("nvmlDeviceGetCount").value or 0


def read_card(driver: Libcuda, nvml: Nvml, ordinal: int) -> CardReading:
    """One GPU by its ordinal; NVML's part is found by identity, never by the ordinal."""
    cuda = _read_cuda(driver, ordinal)
    handle = _nvml_handle(nvml, cuda)
    if handle.value is None:
        names = [field.name for field in FIELDS] + [NVLINK_FIELD]
        return CardReading(cuda, dict.fromkeys(names, Fact(reason=handle.reason)))
    facts = read_fields(nvml, handle.value)
    return CardReading(cuda, _with_parent(nvml, handle.value, facts) if cuda.is_mig else facts)


def _with_parent(nvml: Nvml, slice_handle: Any, facts: dict[str, Fact]) -> dict[str, Fact]:
    """What a MIG slice does not say of itself, from the GPU that it is a slice of."""
    parent = nvml.read("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", slice_handle)
    if parent.reason:
        return facts
    told = read_fields(nvml, parent.value)
    return {
        name: told[name]._replace(note="the parent's") if _is_parents(name, fact, told) else fact
        for name, fact in facts.items()
    }


def _is_parents(name: str, fact: Fact, told: dict[str, Fact]) -> bool:
    """Utilisation and processes of a parent say nothing about its slice."""
    return fact.value is None and told[name].value is not None and name not in SLICE_ONLY


def _read_cuda(driver: Libcuda, ordinal: int) -> CudaFacts:
    try:
        device = driver.device(ordinal)
        return CudaFacts(
            name=driver.name(device),
            uuid=driver.uuid(device),
            pci_bus_id=driver.pci_bus_id(device),
            total_memory_bytes=driver.total_memory_bytes(device),
            attributes=driver.attributes(device),
        )
    except DriverCallError as error:
        return CudaFacts(f"GPU {ordinal} ({error.message})", None, None, 0, {})


# ---- identity -------------------------------------------------------------------------------


def _ordinal(driver: Libcuda, name: str) -> int:
    count = driver.device_count()
    if name.isdecimal():
        if int(name) < count:
            return int(name)
        raise UnknownTargetError(
            f"there is no GPU {name}: CUDA sees {count}", "kmeter devices lists them"
        )
    wanted = name.lower()
    matches = [n for n in range(count) if _is_called(driver, driver.device(n), wanted)]
    if len(matches) == 1:
        return matches[0]
    problem = "fits several GPUs" if matches else "fits no GPU that CUDA sees"
    raise UnknownTargetError(f"{name!r} {problem}", "kmeter devices lists them")


def _is_called(driver: Libcuda, device: int, wanted: str) -> bool:
    uuid, bus_id = driver.uuid(device) or "", driver.pci_bus_id(device) or ""
    same_uuid = len(wanted) > len("gpu-") and uuid.lower().startswith(wanted)
    return same_uuid or (":" in wanted and bus_id == short_bus_id(wanted))


def short_bus_id(text: str) -> str:
    """A PCI bus id as CUDA writes it, ``0000:65:00.0``: NVML's domain has eight digits."""
    domain, colon, rest = text.lower().partition(":")
    if ":" not in rest:
        domain, colon, rest = "0", ":", text.lower()
    return f"{int(domain, 16):04x}{colon}{rest}"


def _nvml_handle(nvml: Nvml, facts: CudaFacts) -> Fact:
    for uuid in _uuids(facts):
        found = nvml.read("nvmlDeviceGetHandleByUUID", uuid.encode())
        if not found.reason:
            return Fact(found.value, Source.NVML)
        if found.reason in {GPU_LOST, "timed out"}:
            return Fact(reason=found.reason)
    if facts.pci_bus_id:
        found = nvml.read("nvmlDeviceGetHandleByPciBusId", facts.pci_bus_id.encode())
        return Fact(found.value, Source.NVML, found.reason)
    return Fact(reason="NVML knows no GPU of this UUID")


def _uuids(facts: CudaFacts) -> Iterator[str]:
    """The card's UUID; a MIG slice has the same 16 bytes behind another prefix."""
    if facts.uuid is not None:
        if facts.is_mig:
            yield facts.uuid.replace("GPU-", "MIG-")
        yield facts.uuid


def _system(nvml: Nvml, function: str) -> Fact:
    found = nvml.read(function)
    if found.reason:
        return Fact(reason=found.reason)
    return Fact(decoded(found.value), Source.NVML)
