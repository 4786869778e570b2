"""Links by which people without an account read."""

from dataclasses import dataclass

from tests.service.model.asking import Caller, Json, Outcome, Request, require
from tests.service.model.oracle.entries import Entries
from tests.service.model.oracle.refusals import CONFLICT, INVALID, NOT_CHOSEN, NOT_FOUND
from tests.service.model.oracle.views import Conversation

SHOWN = ("id", "createdAt", "agentId", "contentType", "content", "attachments", "erased", "alternatives")
"""What readers see of an entry, beside its author where they may."""


@dataclass(eq=False)
class Link:
    """A link. to: where it leads. said: as its makers see it."""

    to: Conversation
    said: Json


class Links(Entries):
    """The operations on links. links: by their secrets, those that nobody has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.links: dict[str, Link] = {}

    def create_link(self, r: Request, chosen: Json) -> Outcome:
        require(not {"allForks", "upToEntryId"} <= r.given.keys(), *INVALID)
        opened, given, last = self._opened(r, minimum="manager"), r.given, None
        if not given.get("allForks"):
            last = given.get("upToEntryId", opened.last_history())
            require(last or "upToEntryId" in given, *CONFLICT, reason="nothing_to_show")
            require(last in [entry["id"] for entry in opened.history()], *INVALID)
        said = {"id": chosen.get("id", NOT_CHOSEN), "conversationId": opened.id, "opens": 0}
        said |= {name: given.get(name, False) for name in ("allForks", "userIds", "keepOnTransfer")}
        said |= {"upToEntryId": last} if last else {}
        said |= {name: chosen.get(name, NOT_CHOSEN) for name in ("createdAt", "endsAt")}
        secret = chosen.get("secret", NOT_CHOSEN)
        self.links[secret] = Link(opened, said)
        return 201, {**said, "secret": secret}

    def list_links(self, r: Request, _chosen: Json) -> Outcome:
        opened = self._opened(r, minimum="manager")
        said = [one.said for one in self.links.values() if one.to.tree is opened.tree and self._is_kept(one)]
        return 200, sorted(said, key=lambda one: (one["createdAt"], one["id"]))

    def delete_link(self, r: Request, _chosen: Json) -> Outcome:
        opened = self._opened(r, minimum="manager")
        found = [
            secret
            for secret, one in self.links.items()
            if one.said["id"] == r.given["linkId"] and one.to.tree is opened.tree and self._is_kept(one)
        ]
        require(found, *NOT_FOUND)
        del self.links[found[0]]
        return 204, None

    def open_link(self, r: Request, _chosen: Json) -> Outcome:
        link = self._linked(r)
        shown = self._shown_by(r, link)
        link.said["opens"] += "conversationId" not in r.given  # who names one has opened it before
        told = {"conversationId": shown.id, "title": shown.said.get("title")}
        return 200, told | {name: link.said[name] for name in ("allForks", "endsAt")}

    def list_linked_entries(self, r: Request, chosen: Json) -> Outcome:
        """Return a page as `list_entries` does, with less of each entry."""
        link = self._linked(r)
        shown, is_whole = self._shown_by(r, link), link.said["allForks"]
        given = {name: held for name, held in r.given.items() if name != "secret"}
        given |= {"conversationId": shown.id, "channel": "history", "alternatives": is_whole}
        given |= {} if is_whole else {"upToEntryId": link.said["upToEntryId"]}
        reader = Caller("", bypasses_membership=True)
        status, page = self.list_entries(Request("listEntries", reader, given), chosen)
        seen = (*SHOWN, "userId") if link.said["userIds"] else SHOWN
        page["data"] = [{name: one[name] for name in seen if name in one} for one in page["data"]]
        page.pop("answering", None)
        return status, page

    def end_links(self, tree: object) -> None:
        """End the links that do not outlive a transfer of the tree."""
        kept = {
            s: one for s, one in self.links.items() if one.said["keepOnTransfer"] or one.to.tree is not tree
        }
        self.links = kept

    def _is_open(self, link: Link) -> bool:
        return self.conversations.get(link.to.id) is link.to

    def _is_kept(self, link: Link) -> bool:
        """Tell whether it leads somewhere, or will when its branch is restored."""
        return link.to.is_trashed or self._is_open(link)

    def _shown_by(self, r: Request, link: Link) -> Conversation:
        shown = self.conversations.get(r.given.get("conversationId", link.to.id))
        is_of_tree = link.said["allForks"] and shown and shown.tree is link.to.tree
        require(shown and (shown is link.to or is_of_tree), *NOT_FOUND)
        assert shown is not None
        return shown

    def _linked(self, r: Request) -> Link:
        link = self.links.get(r.given["secret"])
        require(link and self._is_open(link), *NOT_FOUND)
        assert link is not None
        return link
