"""Attachments: who may read and name them. When one that nobody shows is gone, is not said here."""

from dataclasses import dataclass

from tests.service.model.asking import Caller, Json, Outcome, Request, is_history, require
from tests.service.model.oracle.refusals import NOT_CHOSEN, NOT_FOUND
from tests.service.model.oracle.views import Entry
from tests.service.model.oracle.world import World

IN_ENTRY = ("id", "contentType", "size")


@dataclass(eq=False)
class File:
    """An attachment.

    said: what is shown of it. content: its bytes, in base64. owner: None if the user was erased.
    """

    said: Json
    content: str
    owner: str | None
    was_named: bool = False


class Attachments(World):
    """The operations on attachments."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, File] = {}

    def upload_attachment(self, r: Request, chosen: Json) -> Outcome:
        said = {name: r.given[name] for name in ("name", "contentType", "size", "sha256")}
        own = [
            one for one in self.files.values() if one.owner == r.caller.user and one.said["state"] == "ready"
        ]
        same = [one for one in own if all(one.said[name] == said[name] for name in ("contentType", "sha256"))]
        known = next(filter(self.stays, same), None) or self.files.get(chosen.get("id", NOT_CHOSEN))
        if known is None:
            told = {name: chosen.get(name, NOT_CHOSEN) for name in ("id", "createdAt")}
            shown = said | told | {"state": "ready"}
            known = self.files[told["id"]] = File(shown, r.given["content"], r.caller.user)
        return 201, known.said

    def get_attachment(self, r: Request, _chosen: Json) -> Outcome:
        file = self.files.get(r.given["attachmentId"])
        require(file and self._may_read(r.caller, file, r.given.get("conversationId")), *NOT_FOUND)
        owner = {"userId": file.owner} if file and file.owner and r.caller.bypasses_membership else {}
        return 200, {**(file.said if file else {}), **owner}

    def get_attachment_content(self, r: Request, chosen: Json) -> Outcome:
        """Return what is at the end of the link."""
        _, shown = self.get_attachment(r, chosen)
        require(shown["state"] == "ready", *NOT_FOUND)
        return 200, {"content": self.files[r.given["attachmentId"]].content}

    def list_attachments(self, r: Request, chosen: Json) -> Outcome:
        """Return the last one with each bytes and type. The service chooses the order of types."""
        own = [one for one in self.files.values() if one.owner == r.given["userId"]]
        last = {(one.said["sha256"], one.said["contentType"]): one for one in own}
        order = {row["id"]: at for at, row in enumerate(chosen if isinstance(chosen, list) else [])}
        rows = [{**one.said, "userId": one.owner} for one in last.values()]
        return 200, sorted(rows, key=lambda row: (row["sha256"], order.get(row["id"], 0)))

    def remove_attachment(self, r: Request, _chosen: Json) -> Outcome:
        file = self.files.get(r.given["attachmentId"])
        require(file, *NOT_FOUND)
        if file and file.was_named:
            file.said["state"] = "removed"
        else:
            del self.files[r.given["attachmentId"]]
        return 204, None

    def stays(self, file: File) -> bool:
        """Tell whether it is sure to be there: an entry shows it, or it waits for the first one."""
        waits = not file.was_named and file.owner is not None
        return waits or any(self._shows(tree.entries(), file) for tree in self.kept)

    def is_sure(self, caller: Caller, file: File) -> bool:
        """Tell whether it is sure what the caller may do: what is being removed may show it yet."""
        of_removed = [entry for tree in self.trees for c in tree.all for entry in c.own if c.is_removed]
        is_doubtful = file.owner != caller.user and self._shows(of_removed, file)
        return self.stays(file) and not is_doubtful

    def _require_attachments(self, r: Request, drafts: list[Json]) -> None:
        for one in [one for draft in drafts for one in named_in(draft)]:
            file = self.files.get(one["id"])
            is_ready = file is not None and file.said["state"] == "ready"
            require(is_ready and file and self._may_read(r.caller, file, None), *NOT_FOUND)

    def _attached(self, draft: Json) -> list[Json]:
        """Return what an entry shows of the attachments that its content names."""
        shown = []
        for one in named_in(draft):
            file = self.files[one["id"]]
            file.was_named = True
            name = one.get("name", file.said["name"])
            shown.append({"name": name} | {name: file.said[name] for name in IN_ENTRY})
        return shown

    def _may_read(self, caller: Caller, file: File, conversation_id: str | None) -> bool:
        if caller.bypasses_membership or caller.user == file.owner:
            return True
        of = self.conversations.get(conversation_id or "")
        trees = self.trees if conversation_id is None else [of.tree] if of else []
        return any(tree.level_of(caller) and self._shows(tree.entries(), file) for tree in trees)

    def _shows(self, entries: list[Entry], file: File) -> bool:
        return any(one["id"] == file.said["id"] for entry in entries for one in entry.get("attachments", []))


def named_in(draft: Json) -> list[Json]:
    """Return the attachments that the content of a draft names."""
    message = next(iter(draft["content"]), None)
    return message.get("attachments", []) if isinstance(message, dict) and is_history(draft) else []
