"""All checks of a table, as a function of its items."""

from collections.abc import Iterable, Iterator

from forklore_local.fsck import (
    answers,
    attachments,
    contexts,
    conversations,
    groups,
    links,
    other_partitions,
    remnants,
    vectors,
)
from forklore_local.fsck.facts import Tree
from forklore_local.fsck.finding import Finding
from forklore_local.fsck.survey import Survey
from forklore_service.domain import keys
from forklore_service.storage.connection import Item


def check(items: Iterable[Item], *, now_s: int) -> list[Finding]:
    """Return what does not agree among a table's items, ordered by key.

    items: in any order. now_s: the time; it decides which items have expired.
    """
    survey = Survey(now_s=now_s)
    survey.take_all(items)
    return findings(survey)


def findings(survey: Survey) -> list[Finding]:
    """Return what does not agree in a survey, ordered by key."""
    survey.finish()
    found = list(survey.findings)
    for tree in survey.trees.values():
        found += _of_tree(tree, survey)
    found += other_partitions.check(survey)
    found += answers.check(survey)
    found += attachments.check(survey)
    found += links.check(survey)
    return sorted(found, key=lambda one: (one.key, one.kind))


def _of_tree(tree: Tree, survey: Survey) -> Iterator[Finding]:
    if tree.group is None:
        key = keys.group(tree.group_id)
        if key not in survey.unreadable:
            yield Finding(key, "missing_group", "its partition is not empty", 10, tree.group_id)
        return
    checks = (groups, conversations, remnants, contexts, vectors)
    found = [finding for one in checks for finding in one.check(tree)]
    yield from (one for one in found if not _is_unreadable(one, survey))


def _is_unreadable(finding: Finding, survey: Survey) -> bool:
    """Tell whether a "missing" item exists but is malformed. It has a finding already."""
    return finding.kind.startswith("missing_") and finding.key in survey.unreadable
