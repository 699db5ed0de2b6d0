"""``kmeter devices``: the cards of this machine, by every name that they go by."""

from kmeter.cli.options import Ascii, AsJson


def devices(as_json: AsJson = False, ascii_mode: Ascii = False) -> None:
    """The GPUs of this machine: CUDA index, NVML index, bus id, UUID, name, MIG."""
    from kmeter.cli.output import show, show_json
    from kmeter.sources.cuda import identities
    from kmeter.views.devices import DevicesView, devices_document

    found = identities()
    if as_json:
        show_json(devices_document(found))
    else:
        show(DevicesView(found), ascii_mode=ascii_mode)
