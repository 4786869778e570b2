"""Members, what they archive and pin, and transfers of the ownership."""

from tests.service.model.asking import Json, Outcome, Request, require
from tests.service.model.oracle.notes import Notes
from tests.service.model.oracle.refusals import CONFLICT, FORBIDDEN, INVALID, NOT_CHOSEN, NOT_FOUND
from tests.service.model.oracle.trees import Tree
from tests.service.model.oracle.views import Conversation
from tests.service.model.oracle.world import LEVELS

GRANTS = {"owner": {"manager", "writer", "reader"}, "manager": {"writer", "reader"}}


class Sharing(Notes):
    """The operations on memberships, on the members' archives and pins, and on transfers."""

    def list_memberships(self, r: Request, _chosen: Json) -> Outcome:
        opened = self._opened(r)
        members = [_member(opened, user) for user in opened.tree.levels]
        return 200, sorted(members, key=lambda m: (m["createdAt"], m["userId"]))

    def share_conversation(self, r: Request, chosen: Json) -> Outcome:
        opened, user, level = self._opened(r), r.given["userId"], r.given["accessLevel"]
        require(level in GRANTS.get(opened.tree.levels[r.caller.user], ()), *FORBIDDEN)
        includes = r.given.get("children") == "include"
        if not includes or opened.tree.levels.get(user) != level:
            require(user not in opened.tree.levels, *CONFLICT, reason="already_member")
            opened.tree.levels[user], opened.tree.since[user] = level, chosen.get("createdAt", NOT_CHOSEN)
        if includes:
            self._let_into_children(r, opened.tree)
        return 201, _member(opened, user)

    def _let_into_children(self, r: Request, tree: Tree) -> None:
        """Let a user into the trees that were started from one, as deep as they are new there."""
        user, level = r.given["userId"], r.given["accessLevel"]
        for child in self.kept:
            is_child = child.started_by and child.started_by.tree is tree
            may = level in GRANTS.get(child.levels.get(r.caller.user, ""), ())
            if is_child and may and user not in child.levels:
                child.levels[user] = level
                child.copied.add(user)
                child.since.pop(user, None)
                self._let_into_children(r, child)

    def update_membership(self, r: Request, _chosen: Json) -> Outcome:
        opened, user, level = self._opened_to_change(r), r.given["userId"], r.given["accessLevel"]
        is_lower = LEVELS.index(level) < LEVELS.index(opened.tree.levels[user])
        opened.tree.levels[user] = level
        children = self._take_from_children(r, opened.tree, user, level) if is_lower else 0
        return 200, {**_member(opened, user), "children": children}

    def remove_membership(self, r: Request, _chosen: Json) -> Outcome:
        tree, user = self._opened_to_change(r).tree, r.given["userId"]
        tree.leave(user)
        return 200, {"children": self._take_from_children(r, tree, user, None)}

    def _take_from_children(self, r: Request, tree: Tree, user: str, level: str | None) -> int:
        """Take from the copies of a membership, as deep as they go. Return from how many."""
        if r.given.get("children") == "keep":
            return 0
        changed = 0
        for child in self.kept:
            has_copy = child.started_by and child.started_by.tree is tree and user in child.copied
            had = child.levels.get(user)
            if has_copy and had != "owner" and LEVELS.index(level) < LEVELS.index(had):
                if level is None:
                    child.leave(user)
                else:
                    child.levels[user] = level
                changed += 1 + self._take_from_children(r, child, user, level)
        return changed

    def archive_conversation(self, r: Request, _chosen: Json) -> Outcome:
        self._opened(r).tree.archived.add(r.caller.user)
        return 204, None

    def unarchive_conversation(self, r: Request, _chosen: Json) -> Outcome:
        self._opened(r).tree.archived.discard(r.caller.user)
        return 204, None

    def pin_conversation(self, r: Request, _chosen: Json) -> Outcome:
        tree, user = self._opened(r).tree, r.caller.user
        pins, place = [one for one in self.pins.get(user, []) if one is not tree], 0
        if "afterConversationId" in r.given:
            found = self.conversations.get(r.given["afterConversationId"])
            before = found.tree if found and user in found.tree.levels else None
            place = 1 + next((at for at, one in enumerate(pins) if one is before), -1)
            require(place > 0, *INVALID)
        self.pins[user] = [*pins[:place], tree, *pins[place:]]
        return 204, None

    def unpin_conversation(self, r: Request, _chosen: Json) -> Outcome:
        tree, user = self._opened(r).tree, r.caller.user
        self.pins[user] = [one for one in self.pins.get(user, []) if one is not tree]
        return 204, None

    def request_transfer(self, r: Request, chosen: Json) -> Outcome:
        tree, to = self._opened(r, minimum="owner").tree, r.given["newOwnerUserId"]
        require(to != r.caller.user and to in tree.levels, 400, "bad_request")
        pending = tree.transfer.get("id")
        told = {"reason": "transfer_already_pending", "existingTransferId": pending}
        require(not pending, 409, "TRANSFER_ALREADY_PENDING", **told)
        tree.transfer = {"conversationId": r.id, "fromUserId": r.caller.user, "toUserId": to}
        tree.transfer |= {name: chosen.get(name, NOT_CHOSEN) for name in ("id", "createdAt")}
        return 201, tree.transfer

    def list_transfers(self, r: Request, _chosen: Json) -> Outcome:
        other = {"sender": "toUserId", "recipient": "fromUserId"}.get(r.given.get("role", "all"))
        sides = {"fromUserId", "toUserId"} - {other}
        offers = [tree.transfer for tree in self.trees]
        mine = [offer for offer in offers if r.caller.user in [offer.get(side) for side in sides]]
        return 200, sorted(mine, key=lambda offer: (offer["createdAt"], offer["id"]))

    def get_transfer(self, r: Request, _chosen: Json) -> Outcome:
        return 200, self._offered(r, "fromUserId", "toUserId", otherwise=NOT_FOUND).transfer

    def delete_transfer(self, r: Request, _chosen: Json) -> Outcome:
        self._offered(r, "fromUserId", "toUserId").transfer = {}
        return 204, None

    def accept_transfer(self, r: Request, _chosen: Json) -> Outcome:
        tree = self._offered(r, "toUserId")
        tree.levels |= {tree.transfer["fromUserId"]: "manager", tree.transfer["toUserId"]: "owner"}
        tree.transfer = {}
        self.end_links(tree)
        return 204, None

    def _offered(self, r: Request, *to: str, otherwise: tuple[int, str] = FORBIDDEN) -> Tree:
        wanted, known = r.given["transferId"], self.conversations.values()
        trees = [c.tree for c in known if c.tree.transfer.get("id") == wanted]
        require(trees, *NOT_FOUND)
        require(not to or r.caller.user in [trees[0].transfer[side] for side in to], *otherwise)
        return trees[0]

    def _opened_to_change(self, r: Request) -> Conversation:
        opened, user = self._opened(r), r.given["userId"]
        levels, is_leaving = opened.tree.levels, r.name == "removeMembership" and user == r.caller.user
        may = GRANTS.get(levels[r.caller.user], set())
        require(may or is_leaving, *FORBIDDEN)
        require(user in levels, *NOT_FOUND)
        require(levels[user] != "owner", *INVALID)
        require(is_leaving or {levels[user], r.given.get("accessLevel", levels[user])} <= may, *FORBIDDEN)
        return opened


def _member(of: Conversation, user: str) -> Json:
    member = {"conversationId": of.id, "userId": user, "accessLevel": of.tree.levels[user]}
    return member | {"createdAt": of.tree.since.get(user, NOT_CHOSEN)}
