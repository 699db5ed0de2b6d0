"""Feed readers of handed files with bytes that coverage of their code leads to.

    python tests/fuzz/fuzz_readers.py READER CORPUS_DIR [libFuzzer's options]

READER is image, fatbin, host, archive, ptx, log, usage or profile. Only UsageError may come out of
one. The folder is filled with seeds from the tests' own files where it is empty. Needs atheris.
"""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["kmeter.kernels"]):
    from kmeter.errors import UsageError
    from kmeter.kernels.compiled_file import contents_of_bytes
    from kmeter.kernels.ncu_csv import profiled_kernels
    from kmeter.kernels.ptx import kernels_of_ptx
    from kmeter.kernels.ptxas_log import kernels_of_log
    from kmeter.kernels.resource_usage import kernels_of_usage

FILES = Path(__file__).parents[1] / "data" / "kernels"
_FAT_BINARY = b"\x50\xed\x55\xba\x01\x00\x10\x00"
_MOST_SEED_BYTES = 2**16
Reader = Callable[[bytes], object]


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "replace")


def _image(data: bytes) -> object:
    return contents_of_bytes(b"\x7fELF" + data[4:])


def _fatbin(data: bytes) -> object:
    return contents_of_bytes(_FAT_BINARY + data[8:])


def _archive(data: bytes) -> object:
    return contents_of_bytes(b"!<arch>\n" + data[8:])


READERS: dict[str, tuple[Reader, str]] = {
    "image": (_image, "cubin/1*/*.cubin"),
    "fatbin": (_fatbin, "cubin/containers/*.fatbin"),
    "host": (_image, "cubin/containers/*.o"),
    "archive": (_archive, "cubin/containers/*.o"),
    "ptx": (lambda data: kernels_of_ptx(_text(data)), "ptx/*.ptx"),
    "log": (lambda data: kernels_of_log(_text(data)), "logs/*.log"),
    "usage": (lambda data: kernels_of_usage(_text(data)), "usage/*.txt"),
    "profile": (lambda data: profiled_kernels(data, "profile.csv"), "ncu/*.csv"),
}


def _archive_of(data: bytes) -> bytes:
    header = f"{'a.o/':16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n"
    return b"!<arch>\n" + header.encode() + data


def _seeds(name: str) -> Iterable[bytes]:
    for path in sorted(FILES.glob(READERS[name][1])):
        data = path.read_bytes()
        if len(data) <= _MOST_SEED_BYTES:
            yield _archive_of(data) if name == "archive" else data


def main() -> None:
    """Fuzz until libFuzzer's options or a defect end it."""
    name, corpus = sys.argv[1], Path(sys.argv[2])
    corpus.mkdir(parents=True, exist_ok=True)
    if not any(corpus.iterdir()):
        for index, seed in enumerate(_seeds(name)):
            (corpus / f"seed{index}").write_bytes(seed)
    read = READERS[name][0]

    def run(data: bytes) -> None:
        try:
            read(data)
        except UsageError:
            return

    atheris.Setup([sys.argv[0], str(corpus), *sys.argv[3:]], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
