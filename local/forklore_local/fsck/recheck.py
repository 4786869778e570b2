"""The second look at suspects. A scan is no snapshot: it may show a tree in the middle of a write.

Every write to a tree changes at least one item that is not an entry: an append changes HEAD, a
share changes GROUP. So these items are read twice. If both readings are equal, everything that was
read between them belongs to one state of the tree.
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from forklore_local.fsck import attachments
from forklore_local.fsck.check import findings
from forklore_local.fsck.finding import Finding
from forklore_local.fsck.other_partitions import implied
from forklore_local.fsck.shapes import Kind, kind_of
from forklore_local.fsck.source import Source
from forklore_local.fsck.survey import Survey, unknown
from forklore_service.domain import ids, keys
from forklore_service.domain.attachments import File
from forklore_service.domain.keys import Key, SortRange
from forklore_service.domain.model import JobKind
from forklore_service.storage import items
from forklore_service.storage.connection import Item

LOOKS_MAX = 6
FIRST_PAUSE_S = 0.25


class Moving(Exception):
    """A tree was written to during every look at it."""


def by_tree(suspects: Iterable[Finding]) -> list[tuple[str, list[Finding]]]:
    """Return the suspects grouped by tree, as (tree id, suspects). The id is '' for no tree."""
    in_order = sorted(suspects, key=_tree_of)
    return [(group_id, list(some)) for group_id, some in groupby(in_order, key=_tree_of)]


def _tree_of(finding: Finding) -> str:
    return finding.group_id or ""


def look_again(
    source: Source,
    group_id: str,
    suspects: Sequence[Finding],
    *,
    now_s: int,
    sleep: Callable[[float], None] = time.sleep,
) -> list[Finding]:
    """Return the suspects of a tree that are found again while nothing writes to the tree.

    Raises Moving if something writes to the tree during every look.
    """
    of = {(suspect.kind, suspect.key) for suspect in suspects}
    for look in range(LOOKS_MAX):
        sleep(FIRST_PAUSE_S * 2**look if look else 0)
        found, stood_still = _look(source, group_id, suspects, now_s)
        confirmed = [finding for finding in found if (finding.kind, finding.key) in of]
        if not confirmed or stood_still:
            return confirmed
    raise Moving


def _look(
    source: Source, group_id: str, suspects: Sequence[Finding], now_s: int
) -> tuple[list[Finding], bool]:
    """Read the tree again. Return the findings, and whether nothing wrote to it meanwhile."""
    places = {suspect.key for suspect in suspects}
    trees = {name for name in (group_id, *(key.partition for key in places)) if ids.is_uuid(name)}
    before = _all_but_entries(source, trees)
    parents = {item["parent"]["S"] for item in before.values() if "parent" in item} - trees
    trees |= parents
    before |= _all_but_entries(source, parents)
    # The job of a removed branch is read before its entries, because it is deleted after them.
    beside = source.get(_jobs_of(before))
    if any(suspect.kind == "missing_ref" for suspect in suspects):
        erasures = source.range(keys.jobs_range(JobKind.ERASURE))
        beside |= erasures | source.get(keys.erasure(keys.in_job(job.sort).group_id) for job in erasures)
    for tree in trees:
        beside |= source.range(keys.entries_range(tree))
    # Items outside the partition are read last, because a deletion removes them first.
    for partition in {key.partition for key in places if key.partition.startswith("BLOB#")}:
        beside |= source.range(SortRange(partition, "0", ":"))
    beside |= source.get(key for key in places if kind_of(key) is Kind.USER_FILE)
    attached = {*_attachments_at(places), *_attachments_in(beside)}
    for attachment_id in attached:
        beside |= source.range(keys.references_range(attachment_id))
    beside |= _files_and_jobs(source, attached, places)
    beside |= source.get(_rows_of_owners(beside))
    survey = Survey(now_s=now_s)
    survey.take_all(before.values())
    for partition in {*_logs_of(survey), *(key.partition for key in places if keys.is_part(key))}:
        beside |= source.range(keys.parts_in(partition))
    implied_keys = {one.key for tree in survey.trees.values() for one in implied(tree, survey)}
    implied_keys -= set(_jobs_of(before))
    beside |= source.get(key for key in places | implied_keys if key not in before)
    beside |= source.get(_pointers_of_unknown(survey, beside))
    beside |= source.get(_erasures_at(places))
    stood_still = _all_but_entries(source, trees) == before
    if any(suspect.kind == "wrong_children" for suspect in suspects):
        jobs = source.range(
            keys.jobs_range(JobKind.DELETION)
        )  # a child that is being deleted may have no CHILD
        beside |= source.get(keys.group(keys.in_job(job.sort).group_id) for job in jobs)
    whole = Survey(now_s=now_s)
    whole.take_all((before | beside).values())
    return findings(whole), stood_still


def _files_and_jobs(source: Source, attached: Iterable[str], places: Iterable[Key]) -> dict[Key, Item]:
    """Read attachments with their jobs, until none changes meanwhile: a job moves with its FILE."""
    wanted = [keys.file(one) for one in attached]
    of_places = [key for key in places if kind_of(key) is Kind.JOB]
    while True:
        files = source.get(wanted)
        jobs = source.get([*of_places, *attachments.jobs(_readable(files.values()))])
        if source.get(wanted) == files:
            return files | jobs


def _readable(found: Iterable[Item]) -> Iterator[File]:
    for item in found:
        with contextlib.suppress(LookupError, TypeError, ValueError):  # a malformed one has no job
            yield items.file(item)


def _attachments_at(places: Iterable[Key]) -> Iterator[str]:
    """Yield the attachments that some keys name."""
    for key in places:
        if kind_of(key) in (Kind.FILE, Kind.REF):
            yield keys.in_file(key)
        elif kind_of(key) is Kind.JOB and keys.in_job(key.sort).kind == JobKind.UPLOAD:
            yield keys.in_job(key.sort).group_id


def _attachments_in(found: Mapping[Key, Item]) -> Iterator[str]:
    """Yield the attachments that some items name."""
    for key, item in found.items():
        with contextlib.suppress(
            AttributeError, LookupError, TypeError, ValueError
        ):  # a malformed item names nothing
            if kind_of(key) is Kind.ENTRY:
                yield from items.entry_layout(item).attachment_ids
            elif kind_of(key) is Kind.USER_FILE:
                yield items.user_file(item)


def _rows_of_owners(found: Mapping[Key, Item]) -> Iterator[Key]:
    """Yield the items that name attachments among those of their owners."""
    for key, item in found.items():
        with contextlib.suppress(AttributeError, LookupError, TypeError, ValueError):
            file = items.file(item) if kind_of(key) is Kind.FILE else None
            if file is not None and file.owner is not None:
                yield keys.user_file(file.owner, file.sha256, file.content_type)


def _jobs_of(some: Iterable[Key]) -> list[Key]:
    """Return the keys of the jobs of removed branches, whose remnants are among some keys."""
    removed = ((key.partition, keys.in_remnant(key.sort)) for key in some)
    return [keys.job(JobKind.PRUNE, group_id, one) for group_id, one in removed if one is not None]


def _logs_of(survey: Survey) -> Iterator[str]:
    """Yield the partitions of the answers that HEADs name."""
    for tree in survey.trees.values():
        for head in tree.heads.values():
            if head.answer is not None:
                yield keys.part(tree.group_id, head.answer.answer_id, 0).partition


def _pointers_of_unknown(survey: Survey, beside: Mapping[Key, Item]) -> Iterator[Key]:
    """Yield the pointers that tell whether conversations were removed that items name."""
    for tree in survey.trees.values():
        yield from map(keys.pointer, unknown(tree))
    for key, item in beside.items():
        if kind_of(key) is Kind.IDEM and "conversation" in item:
            yield keys.pointer(item["conversation"].get("S", ""))


def _erasures_at(places: Iterable[Key]) -> Iterator[Key]:
    """Yield the records of the erasures that some keys name, and their jobs."""
    for key in places:
        if key.partition.startswith(keys.ERASURES):
            erasure_id = key.partition.removeprefix(keys.ERASURES)
        elif kind_of(key) is Kind.JOB and keys.in_job(key.sort).kind == JobKind.ERASURE:
            erasure_id = keys.in_job(key.sort).group_id
        else:
            continue
        yield keys.erasure(erasure_id)
        yield keys.job(JobKind.ERASURE, erasure_id)


def _all_but_entries(source: Source, trees: Iterable[str]) -> dict[Key, Item]:
    return {
        key: item for tree in sorted(trees) for key, item in source.range(keys.others_range(tree)).items()
    }
