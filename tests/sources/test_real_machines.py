"""The machines that people really have, each as a fake driver and NVML that answer like it."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes import A100_ATTRIBUTES, FakeGpu
from running import Run

from kmeter.errors import ExitCode

Info = Callable[..., list[dict[str, Any]]]
Kmeter = Callable[..., Any]

NOT_SUPPORTED = "error 3"

GB10 = FakeGpu(
    name="NVIDIA GB10",
    memory=128 * 10**9,
    attributes={10: 32, 13: 2418000, 16: 48, 18: 1, 36: 0, 37: 0, 38: 25165824, 75: 12, 76: 1},
    nvml={
        "nvmlDeviceGetMemoryInfo": NOT_SUPPORTED,
        "nvmlDeviceGetMaxClockInfo:2": NOT_SUPPORTED,
        "nvmlDeviceGetMemoryBusWidth": NOT_SUPPORTED,
        "nvmlDeviceGetCurrPcieLinkWidth": "1",
        "nvmlDeviceGetCurrPcieLinkGeneration": "1",
    },
)
ORIN = FakeGpu(
    name="Orin",
    memory=64 * 10**9,
    attributes={10: 32, 13: 1300000, 16: 16, 18: 1, 36: 1300000, 37: 128, 75: 8, 76: 7},
)
B200 = FakeGpu(
    name="NVIDIA B200",
    memory=192 * 10**9,
    attributes={10: 32, 13: 1965000, 16: 148, 36: 3996000, 37: 7680, 75: 10, 76: 0},
)
NEWER = FakeGpu(
    name="NVIDIA Rubin Next", attributes=A100_ATTRIBUTES | {75: 13, 76: 0, 163: 7, 200: 42}
)


# ---- no GPU ---------------------------------------------------------------------------------


def test_no_libcuda(run_process: Run, tmp_path: Path) -> None:
    finished = run_process("info", LD_LIBRARY_PATH=str(tmp_path))
    assert finished.code == ExitCode.NO_GPU
    assert "libcuda.so.1 is not on this machine" in finished.err
    assert "-d h100-sxm" in finished.err
    assert len(finished.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (100, "CUDA_VISIBLE_DEVICES"),
        (803, "Driver and libcuda do not match"),
        (34, "stub of the CUDA toolkit"),
        (999, "modprobe"),
        (712, "error 712"),
    ],
)
def test_cu_init_fails(kmeter: Kmeter, code: int, says: str) -> None:
    finished = kmeter("info", gpus=[FakeGpu()], cuda_lines=(f"init {code}",))
    assert finished.code == ExitCode.NO_GPU
    assert says in finished.err
    assert "-d h100-sxm" in finished.err
    assert len(finished.err.splitlines()) == 1


def test_no_device(kmeter: Kmeter) -> None:
    finished = kmeter("info", gpus=[])
    assert finished.code == ExitCode.NO_GPU
    assert "CUDA_ERROR_NO_DEVICE" in finished.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("occupancy", "--block", "256", "--cc", "8.6"),
        ("gpus", "h100"),
        ("roofline", "-d", "h100-sxm", "--ai", "1"),
    ],
)
def test_what_needs_no_gpu_works_without(kmeter: Kmeter, arguments: tuple[str, ...]) -> None:
    assert kmeter(*arguments, gpus=[]).code == ExitCode.OK


# ---- a plain card ---------------------------------------------------------------------------


def test_an_a100_has_108_sms_and_64_cores_each(info: Info) -> None:
    (a100,) = info(FakeGpu())
    peaks = a100["peaks"]["flop_per_s"]
    assert peaks["fp32"]["value"] == pytest.approx(19.49e12, rel=1e-3)
    assert peaks["fp64"]["value"] == pytest.approx(9.75e12, rel=1e-3)
    assert peaks["bf16_tensor"]["value"] == pytest.approx(311.9e12, rel=1e-3)
    assert a100["peaks"]["dram_bytes_per_s"]["value"] == pytest.approx(2.039e12, rel=1e-3)
    assert peaks["fp32"]["clock_hz"] == 1.41e9


def test_a_card_is_opened_by_ordinal_uuid_and_bus_id(kmeter: Kmeter) -> None:
    one, other = FakeGpu(number=1), FakeGpu(name="NVIDIA B200", number=0x41)
    for target in ("1", "cuda:1", other.uuid, other.uuid.upper().replace("GPU", "GPU"), "41:00.0"):
        finished = kmeter("info", "-d", target, "--field", "name", gpus=[one, other])
        assert finished.out.strip() == "NVIDIA B200", finished.err


@pytest.mark.parametrize("target", ["2", "cuda:7", "GPU-ffff", "ff:00.0", "GPU-0000"])
def test_a_card_that_is_not_there(kmeter: Kmeter, target: str) -> None:
    gpus = [FakeGpu(number=1), FakeGpu(number=2)]
    finished = kmeter("info", "-d", target, gpus=gpus)
    assert finished.code == ExitCode.USAGE
    assert "kmeter devices lists them" in finished.err


def test_no_context_is_created(kmeter: Kmeter, tmp_path: Path) -> None:
    kmeter("info", "--all", gpus=[FakeGpu()])
    kmeter("doctor", gpus=[FakeGpu()])
    assert not (tmp_path / "context-was-created").exists()


def test_every_attribute_has_a_name_or_keeps_its_number(info: Info) -> None:
    (card,) = info(NEWER)
    assert card["attributes"]["MULTIPROCESSOR_COUNT"] == 108
    assert card["attributes"]["attribute_163"] == 7
    assert card["attributes"]["attribute_200"] == 42


# ---- identity -------------------------------------------------------------------------------


def test_cuda_and_nvml_meet_at_the_uuid_whatever_their_orders(info: Info) -> None:
    a, b, c = (
        FakeGpu(number=n, nvml={"nvmlDeviceGetTemperature:0": str(40 + n)}) for n in (1, 2, 3)
    )
    devices = info(c, a, in_nvml=[a, b, c])
    assert [device["nvml"]["nvml_index"]["value"] for device in devices] == [2, 0]
    assert [device["nvml"]["temperature_c"]["value"] for device in devices] == [43, 41]


def test_devices_lists_also_what_cuda_does_not_see(kmeter: Kmeter) -> None:
    a, b = FakeGpu(number=1), FakeGpu(number=2)
    finished = kmeter("devices", "--json", gpus=[b], in_nvml=[a, b])
    found = json.loads(finished.out)["devices"]
    assert [(one["ordinal"], one["nvml_index"]) for one in found] == [(0, 1), (None, 0)]
    assert "CUDA_VISIBLE_DEVICES" in kmeter("devices", gpus=[b], in_nvml=[a, b]).out


def test_with_every_gpu_hidden_devices_still_lists_them(kmeter: Kmeter) -> None:
    finished = kmeter("devices", "--json", gpus=[], in_nvml=[FakeGpu()])
    assert [one["ordinal"] for one in json.loads(finished.out)["devices"]] == [None]


# ---- memory clocks that cannot be believed --------------------------------------------------


def test_no_memory_clock_no_bandwidth(kmeter: Kmeter, info: Info) -> None:
    (gb10,) = info(GB10)
    bandwidth = gb10["peaks"]["dram_bytes_per_s"]
    assert bandwidth["value"] is None
    assert "memory clock" in bandwidth["reason"]
    text = kmeter("info", gpus=[GB10])
    assert "inf" not in text.out.replace("info", "")
    assert "0 B/s" not in text.out
    roofline = kmeter("roofline", "--ai", "1", gpus=[GB10])
    assert roofline.code == ExitCode.USAGE
    assert "--peak-bw" in roofline.err
    assert kmeter("roofline", "--ai", "1", "--peak-bw", "273", gpus=[GB10]).code == ExitCode.OK


def test_cuda_13_without_a_memory_clock_takes_nvmls(info: Info) -> None:
    (card,) = info(FakeGpu(attributes=A100_ATTRIBUTES | {36: 0}))
    bandwidth = card["peaks"]["dram_bytes_per_s"]
    assert bandwidth["value"] == pytest.approx(2.039e12, rel=1e-3)


def test_an_orin_whose_memory_clock_is_the_gpus_has_no_bandwidth(info: Info) -> None:
    (orin,) = info(ORIN)
    assert orin["peaks"]["dram_bytes_per_s"]["value"] is None
    assert "repeats the GPU's clock" in orin["peaks"]["dram_bytes_per_s"]["reason"]


def test_a_b200_keeps_its_drivers_bus_width_beside_the_catalogues(kmeter: Kmeter) -> None:
    out = kmeter("info", gpus=[B200]).out
    assert "7.672 TB/s" in out
    assert "7680 bit" in out
    assert "catalogue" in out


# ---- memory that is the host's --------------------------------------------------------------


def test_unified_memory_is_the_hosts_and_has_no_link(kmeter: Kmeter, info: Info) -> None:
    (gb10,) = info(GB10)
    assert gb10["total_memory_bytes"] == 128 * 10**9
    assert gb10["memory_is_unified"] is True
    out = kmeter("info", gpus=[GB10]).out
    assert "unified" in out
    assert "integrated" in out
    assert "degraded" not in out


def test_an_integrated_gpu_that_says_0_bytes_has_the_hosts_memory(info: Info) -> None:
    (card,) = info(FakeGpu(memory=0, attributes=ORIN.attributes, nvml=GB10.nvml))
    assert card["total_memory_bytes"] > 10**8


def test_a_discrete_card_never_gets_the_hosts_memory(info: Info) -> None:
    (card,) = info(FakeGpu(memory=0, nvml={"nvmlDeviceGetMemoryInfo": NOT_SUPPORTED}))
    assert card["total_memory_bytes"] is None
    assert card["total_memory_bytes_reason"] == "not supported"


# ---- cards that are lost, and libraries that do not fit -------------------------------------


@pytest.mark.parametrize("lost_after", [0, 3])
def test_one_of_two_gpus_is_lost(kmeter: Kmeter, info: Info, lost_after: int) -> None:
    lost, well = FakeGpu(number=1, lost_after=lost_after), FakeGpu(number=2)
    first, second = info(lost, well)
    assert (first["lost"], second["lost"]) == (True, False)
    assert second["nvml"]["power_w"]["value"] == 62
    assert "lost: GPU lost" in kmeter("info", gpus=[lost, well]).out


def test_a_gpu_that_cuda_does_not_answer_for(info: Info) -> None:
    dead, well = FakeGpu(number=1, cuda_error=999), FakeGpu(number=2)
    first, second = info(dead, well)
    assert first["lost"] is True
    assert second["sm_count"] == 108


def test_driver_and_nvml_do_not_match(kmeter: Kmeter) -> None:
    finished = kmeter("info", gpus=[FakeGpu()], nvml_lines=("init 18",))
    assert finished.code == ExitCode.OK
    assert "differ in version: restart" in finished.out
    assert finished.out.count("differ in version") == 1
    assert "19.49 TFLOP/s" in finished.out


def test_without_nvml_the_cuda_part_is_shown(
    run_process: Run, libraries: Path, kmeter: Kmeter, tmp_path: Path
) -> None:
    kmeter("--version", gpus=[FakeGpu()])
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "libcuda.so.1").symlink_to(libraries / "libcuda.so.1")
    told = {"LD_LIBRARY_PATH": str(alone), "KMETER_FAKE_CUDA": str(tmp_path / "cuda.txt")}
    finished = run_process("info", COLUMNS="160", **told)
    assert finished.code == ExitCode.OK
    assert "libnvidia-ml.so.1 is missing: install" in finished.out
    assert "19.49 TFLOP/s" in finished.out
    doctor = run_process("doctor", **told)
    assert doctor.code == ExitCode.OK
    assert "libnvidia-ml.so.1 is missing" in doctor.out


# ---- MIG ------------------------------------------------------------------------------------


def test_a_mig_slice_has_its_own_sms_and_its_parents_clocks(info: Info, kmeter: Kmeter) -> None:
    parent = FakeGpu(number=1, nvml={"nvmlDeviceGetMigMode": "1 1"})
    nothing = {
        "nvmlDeviceGetClockInfo:1": NOT_SUPPORTED,
        "nvmlDeviceGetUtilizationRates": NOT_SUPPORTED,
        "nvmlDeviceGetMemoryInfo": "20937965568 39845888",
    }
    part = FakeGpu(
        name="NVIDIA A100-SXM4-80GB MIG 2g.20gb",
        number=9,
        attributes=A100_ATTRIBUTES | {16: 28},
        memory=20937965568,
        nvml=nothing,
        uuid_prefix="MIG-",
        parent=0,
    )
    (found,) = info(part, in_nvml=[parent, part])
    assert found["peaks"]["flop_per_s"]["fp32"]["value"] == pytest.approx(
        28 / 108 * 19.49e12, rel=1e-3
    )
    assert found["peaks"]["dram_bytes_per_s"]["value"] is None
    assert "slice" in found["peaks"]["dram_bytes_per_s"]["reason"]
    assert found["nvml"]["utilisation"]["value"] is None
    assert found["total_memory_bytes"] == 20937965568
    out = kmeter("info", gpus=[part], in_nvml=[parent, part]).out
    assert "nvml, the parent's" in out


# ---- newer than the table -------------------------------------------------------------------


def test_a_newer_compute_capability_has_facts_and_no_peaks(kmeter: Kmeter, info: Info) -> None:
    (card,) = info(NEWER)
    assert card["sm_count"] == 108
    assert card["peaks"]["flop_per_s"]["fp32"]["value"] is None
    finished = kmeter("info", gpus=[NEWER])
    assert finished.code == ExitCode.OK
    assert finished.out.count("13.0 is not in kmeter's table") == 1


# ---- GeForce --------------------------------------------------------------------------------


@pytest.mark.parametrize(("brand", "halved"), [("5", True), ("15", True), ("14", False)])
def test_the_brand_and_not_the_name_halves_tensor_rates(
    info: Info, brand: str, halved: bool
) -> None:
    ada = A100_ATTRIBUTES | {75: 8, 76: 9, 16: 128, 13: 2520000}
    gpu = FakeGpu(name="whatever", attributes=ada, nvml={"nvmlDeviceGetBrand": brand})
    value = info(gpu)[0]["peaks"]["flop_per_s"]["fp16_tensor"]["value"]
    assert value == pytest.approx(165.2e12 if halved else 330.3e12, rel=1e-3)


def test_without_a_brand_such_a_rate_is_unknown(info: Info) -> None:
    ada = A100_ATTRIBUTES | {75: 8, 76: 9}
    (card,) = info(FakeGpu(attributes=ada, nvml={"nvmlDeviceGetBrand": NOT_SUPPORTED}))
    assert card["peaks"]["flop_per_s"]["fp16_tensor"]["value"] is None
    assert card["peaks"]["flop_per_s"]["fp32"]["value"] is not None


# ---- links ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({}, "generation 4 x16"),
        ({"nvmlDeviceGetCurrPcieLinkGeneration": "1"}, "slowed down while idle"),
        ({"nvmlDeviceGetCurrPcieLinkWidth": "8"}, "degraded, fewer lanes"),
        (
            {
                "nvmlDeviceGetCurrPcieLinkGeneration": "3",
                "nvmlDeviceGetUtilizationRates": "97 40",
            },
            "degraded, a slower generation",
        ),
    ],
)
def test_a_link_is_idle_or_degraded(kmeter: Kmeter, answers: dict[str, str], says: str) -> None:
    assert says in " ".join(kmeter("info", gpus=[FakeGpu(nvml=answers)], width="160").out.split())


def test_throttle_reasons_are_words(kmeter: Kmeter) -> None:
    held = FakeGpu(nvml={"nvmlDeviceGetCurrentClocksThrottleReasons": str(0x4 | 0x20 | 0x8000)})
    out = kmeter("info", gpus=[held]).out
    assert "power cap, software thermal slowdown, reason 0x8000" in out


# ---- slow and hanging drivers ---------------------------------------------------------------


def test_a_slow_nvml_still_answers(info: Info) -> None:
    (card,) = info(FakeGpu(), nvml_lines=("slow 30",))
    assert card["nvml"]["temperature_c"]["value"] == 31


def test_a_call_that_hangs_is_one_field_less(info: Info) -> None:
    started = time.monotonic()
    (card,) = info(FakeGpu(nvml={"nvmlDeviceGetPowerUsage": "hang"}))
    assert card["nvml"]["power_w"] == {"value": None, "source": None, "reason": "timed out"}
    assert card["nvml"]["temperature_c"]["value"] == 31
    assert time.monotonic() - started < 60  # a bound on hanging, not on speed


def test_an_nvml_that_hangs_everywhere_is_given_up(info: Info) -> None:
    everything = dict.fromkeys(
        ("nvmlDeviceGetBrand", "nvmlDeviceGetClockInfo:1", "nvmlDeviceGetClockInfo:2",
         "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTemperature:0"), "hang",
    )  # fmt: skip
    (card,) = info(FakeGpu(nvml=everything))
    assert card["nvml"]["power_w"]["reason"] == "timed out"
    assert card["nvml"]["vbios"]["reason"] == "timed out"
    assert card["peaks"]["flop_per_s"]["fp32"]["value"] is not None


# ---- doctor ---------------------------------------------------------------------------------


def test_doctor_says_where_libraries_come_from(kmeter: Kmeter, libraries: Path) -> None:
    finished = kmeter("doctor", gpus=[FakeGpu()], width="200")
    assert finished.code == ExitCode.OK
    assert f"loaded from {libraries}/libcuda.so.1" in finished.out


def test_doctor_refuses_the_stub(kmeter: Kmeter, libraries: Path, tmp_path: Path) -> None:
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    (stubs / "libcuda.so.1").write_bytes((libraries / "libcuda.so.1").read_bytes())
    finished = kmeter(
        "doctor", gpus=[FakeGpu()], cuda_lines=("init 34",), width="200",
        environment={"LD_LIBRARY_PATH": str(stubs)},
    )  # fmt: skip
    assert finished.code == ExitCode.NO_GPU
    assert "is the toolkit's stub, not the driver" in finished.out


def test_doctor_sees_what_hides_the_gpus(kmeter: Kmeter) -> None:
    hidden = {"CUDA_VISIBLE_DEVICES": "", "CUDA_DEVICE_ORDER": "FASTEST"}
    finished = kmeter("doctor", "--json", gpus=[], environment=hidden)
    assert finished.code == ExitCode.NO_GPU
    checks = {check["name"]: check for check in json.loads(finished.out)["checks"]}
    assert checks["CUDA_VISIBLE_DEVICES"]["fix"] == "unset CUDA_VISIBLE_DEVICES"
    assert checks["CUDA_DEVICE_ORDER"]["ok"] is False
