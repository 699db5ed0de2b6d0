"""On a real GPU: what kmeter reads is what nvidia-smi and PyTorch say, and no context is created.

pytest -m gpu tests/gpu
"""

import json
import shutil
import subprocess
import sys
import time
from typing import Any

import pytest
from running import MODULE, Run

pytestmark = pytest.mark.gpu


def nvidia_smi(*fields: str) -> list[str]:
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [field.strip() for field in done.stdout.splitlines()[0].split(",")]


@pytest.fixture
def card(run_process: Run) -> dict[str, Any]:
    finished = run_process("info", "--json", "-d", "0")
    assert finished.code == 0, finished.err
    found: dict[str, Any] = json.loads(finished.out)["devices"][0]
    return found


@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="no nvidia-smi")
def test_equals_nvidia_smi(card: dict[str, Any]) -> None:
    name, uuid, sm, memory, power = nvidia_smi(
        "name", "uuid", "clocks.max.sm", "clocks.max.mem", "power.limit"
    )
    nvml = card["nvml"]
    assert card["name"] == name
    assert card["uuid"] == uuid
    assert nvml["sm_clock_max_hz"]["value"] == float(sm) * 1e6
    assert nvml["memory_clock_max_hz"]["value"] == float(memory) * 1e6
    assert nvml["power_limit_w"]["value"] == float(power)


def test_equals_pytorch(card: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    properties = torch.cuda.get_device_properties(0)
    assert card["name"] == properties.name
    assert card["sm_count"] == properties.multi_processor_count
    assert card["total_memory_bytes"] == properties.total_memory
    assert card["l2_bytes"] == properties.L2_cache_size
    assert card["compute_capability"] == f"{properties.major}.{properties.minor}"


@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="no nvidia-smi")
def test_no_context_is_created() -> None:
    before = int(nvidia_smi("memory.used")[0])
    script = f"{MODULE.replace('sys.exit(main())', 'main()')}; import time; time.sleep(3)"
    process = subprocess.Popen([sys.executable, "-c", script, "info"], stdout=subprocess.DEVNULL)
    time.sleep(2)
    assert int(nvidia_smi("memory.used")[0]) <= before
    assert process.wait() == 0


def test_doctor_is_content(run_process: Run) -> None:
    assert run_process("doctor").code == 0
