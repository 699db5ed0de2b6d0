"""``kmeter doctor``: what of this machine keeps kmeter from working, and the way to mend it."""

import typer

from kmeter.cli.options import Ascii, AsJson
from kmeter.errors import ExitCode


def doctor(as_json: AsJson = False, ascii_mode: Ascii = False) -> None:
    """Check driver, libraries and permissions; each problem with its fix. Exit 3 without a GPU."""
    from kmeter.cli.output import show, show_json
    from kmeter.sources._checks import checks
    from kmeter.views.doctor import DoctorView, doctor_document

    found = checks()
    if as_json:
        show_json(doctor_document(found))
    else:
        show(DoctorView(found), ascii_mode=ascii_mode)
    if any(check.is_needed and not check.is_good for check in found):
        raise typer.Exit(ExitCode.NO_GPU)
