"""Every 409 says which conflict it is, and the reference names every reason."""

import re
from pathlib import Path

import forklore_service
from forklore_service import errors
from tests.service.api import reference

SOURCES = Path(forklore_service.__file__).parent


def raised() -> set[str]:
    """Return every reason that the code names, and those of conflicts with a code of their own."""
    texts = (path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))
    named = {reason for text in texts for reason in re.findall(r'\breason="(\w+)"', text)}
    return named | {one.code.lower() for one in errors.NamedConflictError.__subclasses__()}


def documented() -> set[str]:
    rows = re.findall(r"^\| (`.*?) \|", reference.sections()["Conflicts"], flags=re.MULTILINE)
    return reference.names_in("\n".join(rows)) - {"reason"}


def test_the_reference_names_every_reason_and_no_other() -> None:
    of_folders = {"damaged", "failed", "full", "read_only", "replaced"}  # docs/operate.md
    assert raised() - of_folders == documented(), "see docs/api.md, Conflicts"
    assert {"id_in_use", "stale", "transfer_already_pending"} <= raised()


def test_a_conflict_with_a_code_of_its_own_has_it_as_its_reason() -> None:
    error = errors.TransferPendingError("pending", existingTransferId="t")

    assert (error.code, error.details) == (
        "TRANSFER_ALREADY_PENDING",
        {"message": "pending", "reason": "transfer_already_pending", "existingTransferId": "t"},
    )
