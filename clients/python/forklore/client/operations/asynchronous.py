"""A method for each operation of the service, for asyncio and trio.

Generated from the table of operations by `python -m tools.client`. Do not change it by hand.

An argument that is None is left out. A POST that writes gets an idempotency key if it has none.
Every method raises the errors of `forklore.client.errors`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from forklore.client import results
from forklore.client.decoding import nothing
from forklore.client.omitted import OMITTED, Omitted
from forklore.client.operations.calling import AsyncCalling
from forklore.client.operations.shapes import SHAPES


class AsyncOperations(AsyncCalling):
    """Every operation of the service, under its name."""

    async def check_health(self) -> results.Health:
        """Tell that the service answers. It asks nothing of the table.

        Needs no credentials.
        """
        return await self._call(SHAPES["checkHealth"], {}, results.Health.of)

    async def create_conversation(
        self,
        *,
        title: str | None = None,
        tags: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> results.ConversationDetails:
        """Create a conversation without entries.

        You become its owner. Without an `id` the service chooses one. Appending to an id that
        does not exist creates the conversation, too.
        """
        return await self._call(
            SHAPES["createConversation"],
            {
                "title": title,
                "tags": tags,
                "metadata": metadata,
                "id": id,
                "userId": user_id,
                "agentId": agent_id,
            },
            results.ConversationDetails.of,
            idempotency_key=idempotency_key,
        )

    async def list_conversations(
        self,
        *,
        mode: Literal["latest-fork", "current", "roots", "all"] | None = None,
        ancestry: Literal["roots", "children", "all"] | None = None,
        archived: Literal["exclude", "include", "only"] | None = None,
        query: str | None = None,
        agent_id: str | None = None,
        tag: str | None = None,
        limit: int | None = None,
        after_cursor: str | None = None,
    ) -> results.ConversationPage:
        """List the caller's conversations, tree by tree, the newest root first.

        `mode` chooses which conversations of a fork tree are shown, `query` those with a text
        in their title, `agent_id` and `tag` (`name` or `name:value`) those that have them. A
        page may be short, even empty: only an `after_cursor` of null ends the list.
        """
        return await self._call(
            SHAPES["listConversations"],
            {
                "mode": mode,
                "ancestry": ancestry,
                "archived": archived,
                "query": query,
                "agentId": agent_id,
                "tag": tag,
                "limit": limit,
                "afterCursor": after_cursor,
            },
            results.ConversationPage.of,
        )

    async def get_conversation(self, conversation_id: str) -> results.ConversationDetails:
        """Show a conversation.

        For every member of its fork tree.
        """
        return await self._call(
            SHAPES["getConversation"], {"conversationId": conversation_id}, results.ConversationDetails.of
        )

    async def update_conversation(
        self,
        conversation_id: str,
        *,
        title: str | Omitted | None = OMITTED,
        tags: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        if_match: str | None = None,
    ) -> results.ConversationDetails:
        """Replace a conversation's title, tags or metadata.

        For writers. What the body names is replaced as a whole, the rest stays. `title: null`
        clears the title. With `if_match` only if `updatedAt` has not changed.
        """
        return await self._call(
            SHAPES["updateConversation"],
            {
                "conversationId": conversation_id,
                "title": title,
                "tags": tags,
                "metadata": metadata,
                "userId": user_id,
            },
            results.ConversationDetails.of,
            if_match=if_match,
            nulls=("title",),
        )

    async def delete_conversation(
        self, conversation_id: str, *, scope: Literal["tree", "branch"] | None = None
    ) -> None:
        """Delete the conversation's whole fork tree, or with `scope=branch` this branch alone.

        Every tree started from what is deleted goes with it. The tree is for the owner. A
        branch is for managers: other branches keep what they inherited from it. Deleting the
        last branch is deleting the tree. 202 says that closing a very wide tree goes on in
        the background. The ids cannot be used again for 30 days.
        """
        await self._call(
            SHAPES["deleteConversation"], {"conversationId": conversation_id, "scope": scope}, nothing
        )

    async def fork_conversation(
        self,
        conversation_id: str,
        *,
        title: str | None = None,
        tags: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        at_entry_id: str | None = None,
        at_key: str | None = None,
        position: Literal["before", "after"] | None = None,
        reset_metrics: bool | None = None,
        name: Mapping[str, Any] | None = None,
        promote: bool | None = None,
        count: int | None = None,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> results.Forked:
        """Fork a conversation before or after an entry, or at its head. Nothing is copied.

        For writers. The fork shows what its source showed up to `at_entry_id`, excluded or
        included as `position` says, or everything without it. Later entries of either are not
        shown in the other. With `count` that many equal forks are made, and the answer is
        `{"data": […]}`. With `promote` the fork becomes the tree's current branch.
        """
        return await self._call(
            SHAPES["forkConversation"],
            {
                "conversationId": conversation_id,
                "title": title,
                "tags": tags,
                "metadata": metadata,
                "id": id,
                "userId": user_id,
                "agentId": agent_id,
                "atEntryId": at_entry_id,
                "atKey": at_key,
                "position": position,
                "resetMetrics": reset_metrics,
                "name": name,
                "promote": promote,
                "count": count,
            },
            results.forked,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def promote_conversation(self, conversation_id: str, *, idempotency_key: str | None = None) -> None:
        """Make a conversation the current branch of its fork tree.

        For writers. The last promotion wins. Until one is made, the root is the current
        branch.
        """
        await self._call(
            SHAPES["promoteConversation"],
            {"conversationId": conversation_id},
            nothing,
            idempotency_key=idempotency_key,
        )

    async def list_forks(
        self, conversation_id: str, *, limit: int | None = None, after_cursor: str | None = None
    ) -> results.ForkPage:
        """List every conversation of the fork tree, the root and the asked one included, oldest
        first.

        For every member. Each says where it was forked, and which entry of the history it
        shows last.
        """
        return await self._call(
            SHAPES["listForks"],
            {"conversationId": conversation_id, "limit": limit, "afterCursor": after_cursor},
            results.ForkPage.of,
        )

    async def list_children(
        self,
        conversation_id: str,
        *,
        limit: int | None = None,
        after_cursor: str | None = None,
        started_by_entry_id: str | None = None,
    ) -> results.ConversationPage:
        """List the conversations that this one has started, oldest first, as far as you may see
        them.

        A child is a conversation for a delegated task: see `startedByConversationId` at
        appendEntry. With `started_by_entry_id` only those that the entry has started.
        """
        return await self._call(
            SHAPES["listChildren"],
            {
                "conversationId": conversation_id,
                "limit": limit,
                "afterCursor": after_cursor,
                "startedByEntryId": started_by_entry_id,
            },
            results.ConversationPage.of,
        )

    async def append_entry(
        self,
        conversation_id: str,
        *,
        title: str | None = None,
        tags: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        forked_at_conversation_id: str | None = None,
        forked_at_entry_id: str | None = None,
        forked_at_key: str | None = None,
        forked_at_position: Literal["before", "after", "head"] | None = None,
        started_by_conversation_id: str | None = None,
        started_by_entry_id: str | None = None,
        promote: bool | None = None,
        context: Mapping[str, Any] | None = None,
        name: Mapping[str, Any] | None = None,
        content_type: str | None = None,
        content: Sequence[Any] | None = None,
        agent_id: str | None = None,
        channel: str | None = None,
        user_id: str | None = None,
        epoch: int | None = None,
        key: str | None = None,
        usage: Mapping[str, Any] | None = None,
        indexed_content: str | None = None,
        merged_from_conversation_id: str | None = None,
        merged_up_to_entry_id: str | None = None,
        entries: Sequence[Mapping[str, Any]] | None = None,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> results.Appended:
        """Append one entry, or several at once; a conversation that does not exist is created.

        For writers. An unknown conversation is created; with `forked_at_conversation_id` as a
        fork, with `started_by_conversation_id` as a child. `if_match` appends only behind the
        entry that it names, and `promote` makes the conversation its tree's current branch.
        Only agents may write to the `context` channel, and give `context`: their whole
        present context, which is synced in the same step.
        """
        return await self._call(
            SHAPES["appendEntry"],
            {
                "conversationId": conversation_id,
                "title": title,
                "tags": tags,
                "metadata": metadata,
                "forkedAtConversationId": forked_at_conversation_id,
                "forkedAtEntryId": forked_at_entry_id,
                "forkedAtKey": forked_at_key,
                "forkedAtPosition": forked_at_position,
                "startedByConversationId": started_by_conversation_id,
                "startedByEntryId": started_by_entry_id,
                "promote": promote,
                "context": context,
                "name": name,
                "contentType": content_type,
                "content": content,
                "agentId": agent_id,
                "channel": channel,
                "userId": user_id,
                "epoch": epoch,
                "key": key,
                "usage": usage,
                "indexedContent": indexed_content,
                "mergedFromConversationId": merged_from_conversation_id,
                "mergedUpToEntryId": merged_up_to_entry_id,
                "entries": entries,
            },
            results.appended,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def sync_context(
        self,
        conversation_id: str,
        *,
        content_type: str,
        content: Sequence[Any],
        agent_id: str | None = None,
        based_on_entry_id: str | None = None,
        channel: str | None = None,
        user_id: str | None = None,
        usage: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> results.Synced:
        """Bring an agent's stored context to its present one: nothing, the rest, or a new epoch
        is written.

        For agents: authorize with an API key as well (`client`). `content` is the whole
        present context; the service compares it with the stored one and writes the
        difference.
        """
        return await self._call(
            SHAPES["syncContext"],
            {
                "conversationId": conversation_id,
                "contentType": content_type,
                "content": content,
                "agentId": agent_id,
                "basedOnEntryId": based_on_entry_id,
                "channel": channel,
                "userId": user_id,
                "usage": usage,
            },
            results.Synced.of,
            idempotency_key=idempotency_key,
        )

    async def look_up_entry(self, conversation_id: str, *, key: str) -> results.Entry:
        """Show the entry that a conversation shows under a key.

        For every member. Of several entries the nearest is shown: one of the conversation
        itself before an inherited one.
        """
        return await self._call(
            SHAPES["lookUpEntry"], {"conversationId": conversation_id, "key": key}, results.Entry.of
        )

    async def list_entries(
        self,
        conversation_id: str,
        *,
        channel: str | None = None,
        limit: int | None = None,
        after_cursor: str | None = None,
        before_cursor: str | None = None,
        tail: bool | None = None,
        up_to_entry_id: str | None = None,
        all_forks: bool | None = None,
        forks: Literal["all"] | None = None,
        own: bool | None = None,
        alternatives: bool | None = None,
        epoch: Literal["latest", "all"] | int | None = None,
    ) -> results.EntryPage:
        """List what a conversation shows, oldest first; with `all_forks` every entry of its fork
        tree.

        For every member. The cursors are ids of entries. `tail` gives the page at the end,
        still the oldest first. Users see the history; agents their own context as well. With
        `alternatives`, each history entry names the conversations that go on differently
        before it.
        """
        return await self._call(
            SHAPES["listEntries"],
            {
                "conversationId": conversation_id,
                "channel": channel,
                "limit": limit,
                "afterCursor": after_cursor,
                "beforeCursor": before_cursor,
                "tail": tail,
                "upToEntryId": up_to_entry_id,
                "allForks": all_forks,
                "forks": forks,
                "own": own,
                "alternatives": alternatives,
                "epoch": epoch,
            },
            results.EntryPage.of,
        )

    async def get_entry(self, conversation_id: str, entry_id: str) -> results.Entry:
        """Show one entry that a conversation shows.

        For every member. Context is shown only to the agent that it belongs to.
        """
        return await self._call(
            SHAPES["getEntry"], {"conversationId": conversation_id, "entryId": entry_id}, results.Entry.of
        )

    async def compare_conversations(
        self, conversation_id: str, *, with_: str, limit: int | None = None
    ) -> results.Comparison:
        """Compare two conversations of a fork tree: where they part, and how each goes on.

        For every member. `base` is the last history entry that both show. `data` begins after
        it; `list_entries` with `channel=history` goes on from an `afterCursor`.
        """
        return await self._call(
            SHAPES["compareConversations"],
            {"conversationId": conversation_id, "with": with_, "limit": limit},
            results.Comparison.of,
        )

    async def list_ancestors(self, conversation_id: str) -> results.Ancestors:
        """List the conversations whose entries a conversation shows, the oldest first, and
        itself.

        For every member.
        """
        return await self._call(
            SHAPES["listAncestors"], {"conversationId": conversation_id}, results.Ancestors.of
        )

    async def merge_conversation(
        self,
        conversation_id: str,
        *,
        from_conversation_id: str,
        after_entry_id: str | None = None,
        up_to_entry_id: str | None = None,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> results.Entries:
        """Append copies of what another branch of the fork tree shows, all or none, in order.

        For writers. At most 50 history entries of the other branch: those after the last one
        that both branches show, or after `after_entry_id`, up to `up_to_entry_id` or the end.
        A copy names its original and has no `usage`. 200 says that there was nothing to copy.
        """
        return await self._call(
            SHAPES["mergeConversation"],
            {
                "conversationId": conversation_id,
                "fromConversationId": from_conversation_id,
                "afterEntryId": after_entry_id,
                "upToEntryId": up_to_entry_id,
            },
            results.Entries.of,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def copy_conversation(
        self,
        conversation_id: str,
        *,
        id: str | None = None,
        title: str | None = None,
        up_to_entry_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> results.ConversationDetails:
        """Copy a conversation to a new fork tree that belongs to you alone.

        For every member. At most 1,000 history entries, all that the conversation shows or
        those up to `up_to_entry_id`. A copy names its original and has no `usage`. Without an
        `id` the service chooses one; with an `id`, the same request sent again goes on with a
        copy that did not end.
        """
        return await self._call(
            SHAPES["copyConversation"],
            {"conversationId": conversation_id, "id": id, "title": title, "upToEntryId": up_to_entry_id},
            results.ConversationDetails.of,
            idempotency_key=idempotency_key,
        )

    async def search_conversations(
        self,
        *,
        query: str,
        limit: int | None = None,
        after_cursor: str | None = None,
        search_type: Literal["auto", "fulltext", "semantic"]
        | Sequence[Literal["fulltext", "semantic"]]
        | None = None,
        include_entry: bool | None = None,
    ) -> results.SearchPage:
        """Find the entries that have all words of a query, the newest conversations first.

        A grep over the history of every conversation that you may see, not a search engine: a
        word is found wherever its letters occur, in an entry's text or in its
        `indexedContent`. A page may be short, even empty: only an `after_cursor` of null ends
        the search.
        """
        return await self._call(
            SHAPES["searchConversations"],
            {
                "query": query,
                "limit": limit,
                "afterCursor": after_cursor,
                "searchType": search_type,
                "includeEntry": include_entry,
            },
            results.SearchPage.of,
        )

    async def list_memberships(
        self, conversation_id: str, *, limit: int | None = None, after_cursor: str | None = None
    ) -> results.MembershipPage:
        """List who may use the conversation's fork tree, oldest first.

        For every member.
        """
        return await self._call(
            SHAPES["listMemberships"],
            {"conversationId": conversation_id, "limit": limit, "afterCursor": after_cursor},
            results.MembershipPage.of,
        )

    async def share_conversation(
        self,
        conversation_id: str,
        *,
        user_id: str,
        access_level: Literal["manager", "writer", "reader"],
        children: Literal["include", "keep"] | None = None,
        idempotency_key: str | None = None,
    ) -> results.Membership:
        """Make a user a member of the conversation's fork tree.

        Owners let managers, writers and readers in, managers writers and readers. It holds
        for every fork. With `children=include` also for what was started from here, where you
        may do so.
        """
        return await self._call(
            SHAPES["shareConversation"],
            {
                "conversationId": conversation_id,
                "userId": user_id,
                "accessLevel": access_level,
                "children": children,
            },
            results.Membership.of,
            idempotency_key=idempotency_key,
        )

    async def update_membership(
        self,
        conversation_id: str,
        *,
        user_id: str,
        access_level: Literal["manager", "writer", "reader"],
        children: Literal["include", "keep"] | None = None,
    ) -> results.ChangedMembership:
        """Change a member's access level.

        By the rules of sharing, for the level that the member has now and the new one. A
        lower level is also for what was started from here, unless `children=keep`. 202 says
        that this goes on in the background.
        """
        return await self._call(
            SHAPES["updateMembership"],
            {
                "conversationId": conversation_id,
                "userId": user_id,
                "children": children,
                "accessLevel": access_level,
            },
            results.ChangedMembership.of,
        )

    async def remove_membership(
        self, conversation_id: str, *, user_id: str, children: Literal["include", "keep"] | None = None
    ) -> results.RemovedMembership:
        """End a membership: that of a member you have a say in, or your own.

        By the rules of sharing; everybody but the owner may leave. A transfer to the member
        goes, too. So do memberships of what was started from here, unless `children=keep`.
        202 says that this goes on in the background.
        """
        return await self._call(
            SHAPES["removeMembership"],
            {"conversationId": conversation_id, "userId": user_id, "children": children},
            results.RemovedMembership.of,
        )

    async def archive_conversation(self, conversation_id: str) -> None:
        """Archive the conversation's fork tree, for you alone.

        For every member. Your lists of conversations leave it out, unless they ask for it
        with `archived`. Nothing else changes, and nothing for other members.
        """
        await self._call(SHAPES["archiveConversation"], {"conversationId": conversation_id}, nothing)

    async def unarchive_conversation(self, conversation_id: str) -> None:
        """Take the conversation's fork tree out of your archive.

        For every member.
        """
        await self._call(SHAPES["unarchiveConversation"], {"conversationId": conversation_id}, nothing)

    async def request_transfer(
        self,
        *,
        conversation_id: str,
        new_owner_user_id: str,
        user_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> results.Transfer:
        """Offer the ownership of a conversation's fork tree to a member.

        For the owner. The member has to accept it; one can be pending at a time.
        """
        return await self._call(
            SHAPES["requestTransfer"],
            {"conversationId": conversation_id, "newOwnerUserId": new_owner_user_id, "userId": user_id},
            results.Transfer.of,
            idempotency_key=idempotency_key,
        )

    async def list_transfers(
        self,
        *,
        role: Literal["sender", "recipient", "all"] | None = None,
        limit: int | None = None,
        after_cursor: str | None = None,
    ) -> results.TransferPage:
        """List the pending transfers that you have sent or that wait for you, oldest first.

        `role` chooses those that you have sent or that wait for you.
        """
        return await self._call(
            SHAPES["listTransfers"],
            {"role": role, "limit": limit, "afterCursor": after_cursor},
            results.TransferPage.of,
        )

    async def get_transfer(self, transfer_id: str) -> results.Transfer:
        """Show a pending transfer to its sender or recipient.

        Its `id` comes from requestTransfer or listTransfers. To everybody else it is 404.
        """
        return await self._call(SHAPES["getTransfer"], {"transferId": transfer_id}, results.Transfer.of)

    async def delete_transfer(self, transfer_id: str) -> None:
        """Cancel a transfer as its sender, or decline it as its recipient.

        Its `id` comes from requestTransfer or listTransfers. Nobody's level changes.
        """
        await self._call(SHAPES["deleteTransfer"], {"transferId": transfer_id}, nothing)

    async def accept_transfer(self, transfer_id: str, *, idempotency_key: str | None = None) -> None:
        """Become the owner; the sender becomes a manager.

        For the recipient. Its `id` comes from listTransfers.
        """
        await self._call(
            SHAPES["acceptTransfer"], {"transferId": transfer_id}, nothing, idempotency_key=idempotency_key
        )

    async def set_name(
        self,
        *,
        name: str,
        conversation_id: str,
        data: Mapping[str, Any] | None = None,
        expect_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> results.Name:
        """Make a name, or point it to another conversation.

        For every member of the conversation. A name is yours: names of other users and of
        other clients never meet. `expect_revision` moves it only if nobody has moved it
        meanwhile.
        """
        return await self._call(
            SHAPES["setName"],
            {
                "name": name,
                "conversationId": conversation_id,
                "data": data,
                "expectRevision": expect_revision,
            },
            results.Name.of,
            idempotency_key=idempotency_key,
        )

    async def list_names(
        self, *, prefix: str | None = None, limit: int | None = None, after_cursor: str | None = None
    ) -> results.NamePage:
        """List your names that begin with `prefix`, in the order of their UTF-8 bytes.

        An agent lists the names of its own client. A name whose conversation you cannot see
        any more is `deleted`.
        """
        return await self._call(
            SHAPES["listNames"],
            {"prefix": prefix, "limit": limit, "afterCursor": after_cursor},
            results.NamePage.of,
        )

    async def look_up_name(self, *, name: str) -> results.Name:
        """Show a name and where it points.

        `deleted` says that you cannot see its conversation any more.
        """
        return await self._call(SHAPES["lookUpName"], {"name": name}, results.Name.of)

    async def delete_name(self, *, name: str, expect_revision: int | None = None) -> None:
        """Delete a name; its conversation stays as it is.

        The name can be used again at once. `expect_revision` deletes it only if nobody has
        moved it meanwhile.
        """
        await self._call(SHAPES["deleteName"], {"name": name, "expectRevision": expect_revision}, nothing)

    async def append_entry_by_name(
        self,
        *,
        name: str,
        title: str | None = None,
        tags: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        forked_at_conversation_id: str | None = None,
        forked_at_entry_id: str | None = None,
        forked_at_key: str | None = None,
        forked_at_position: Literal["before", "after", "head"] | None = None,
        started_by_conversation_id: str | None = None,
        started_by_entry_id: str | None = None,
        promote: bool | None = None,
        context: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
        content_type: str | None = None,
        content: Sequence[Any] | None = None,
        agent_id: str | None = None,
        channel: str | None = None,
        user_id: str | None = None,
        epoch: int | None = None,
        key: str | None = None,
        usage: Mapping[str, Any] | None = None,
        indexed_content: str | None = None,
        merged_from_conversation_id: str | None = None,
        merged_up_to_entry_id: str | None = None,
        entries: Sequence[Mapping[str, Any]] | None = None,
        idempotency_key: str | None = None,
        if_match: str | None = None,
    ) -> results.Appended:
        """Append to the conversation that a name points to; a name that does not exist is made.

        The first append by a name makes the conversation and the name at once. Later ones
        follow the name, even if it moves at the same moment; one whose caller cannot see the
        conversation any more makes a new one, which takes the name. The rest of the body is
        that of appendEntry. `data` replaces the name's.
        """
        return await self._call(
            SHAPES["appendEntryByName"],
            {
                "title": title,
                "tags": tags,
                "metadata": metadata,
                "forkedAtConversationId": forked_at_conversation_id,
                "forkedAtEntryId": forked_at_entry_id,
                "forkedAtKey": forked_at_key,
                "forkedAtPosition": forked_at_position,
                "startedByConversationId": started_by_conversation_id,
                "startedByEntryId": started_by_entry_id,
                "promote": promote,
                "context": context,
                "name": name,
                "data": data,
                "contentType": content_type,
                "content": content,
                "agentId": agent_id,
                "channel": channel,
                "userId": user_id,
                "epoch": epoch,
                "key": key,
                "usage": usage,
                "indexedContent": indexed_content,
                "mergedFromConversationId": merged_from_conversation_id,
                "mergedUpToEntryId": merged_up_to_entry_id,
                "entries": entries,
            },
            results.appended,
            idempotency_key=idempotency_key,
            if_match=if_match,
        )

    async def list_entries_by_name(
        self,
        *,
        name: str,
        channel: str | None = None,
        limit: int | None = None,
        after_cursor: str | None = None,
        before_cursor: str | None = None,
        tail: bool | None = None,
        up_to_entry_id: str | None = None,
        all_forks: bool | None = None,
        forks: Literal["all"] | None = None,
        own: bool | None = None,
        alternatives: bool | None = None,
        epoch: Literal["latest", "all"] | int | None = None,
    ) -> results.EntryPage:
        """List what the conversation shows that a name points to, oldest first.

        For every member. The parameters and the answer are those of `list_entries`.
        """
        return await self._call(
            SHAPES["listEntriesByName"],
            {
                "name": name,
                "channel": channel,
                "limit": limit,
                "afterCursor": after_cursor,
                "beforeCursor": before_cursor,
                "tail": tail,
                "upToEntryId": up_to_entry_id,
                "allForks": all_forks,
                "forks": forks,
                "own": own,
                "alternatives": alternatives,
                "epoch": epoch,
            },
            results.EntryPage.of,
        )

    async def admin_list_conversations(
        self,
        *,
        justification: str | None = None,
        user_id: str | None = None,
        mode: Literal["latest-fork", "current", "roots", "all"] | None = None,
        ancestry: Literal["roots", "children", "all"] | None = None,
        agent_id: str | None = None,
        tag: str | None = None,
        limit: int | None = None,
        after_cursor: str | None = None,
    ) -> results.AdminConversationPage:
        """List everybody's conversations, or those of one user, tree by tree, the newest root
        first.
        """
        return await self._call(
            SHAPES["adminListConversations"],
            {
                "justification": justification,
                "userId": user_id,
                "mode": mode,
                "ancestry": ancestry,
                "agentId": agent_id,
                "tag": tag,
                "limit": limit,
                "afterCursor": after_cursor,
            },
            results.AdminConversationPage.of,
        )

    async def admin_get_conversation(
        self, conversation_id: str, *, justification: str | None = None
    ) -> results.AdminConversation:
        """Show any conversation, with the client that its context is bound to.

        For every member of its fork tree.
        """
        return await self._call(
            SHAPES["adminGetConversation"],
            {"conversationId": conversation_id, "justification": justification},
            results.AdminConversation.of,
        )

    async def admin_list_forks(
        self,
        conversation_id: str,
        *,
        justification: str | None = None,
        limit: int | None = None,
        after_cursor: str | None = None,
    ) -> results.ForkPage:
        """List every conversation of the fork tree, the root and the asked one included, oldest
        first.

        For every member. Each says where it was forked, and which entry of the history it
        shows last.
        """
        return await self._call(
            SHAPES["adminListForks"],
            {
                "conversationId": conversation_id,
                "justification": justification,
                "limit": limit,
                "afterCursor": after_cursor,
            },
            results.ForkPage.of,
        )

    async def admin_list_children(
        self,
        conversation_id: str,
        *,
        justification: str | None = None,
        limit: int | None = None,
        after_cursor: str | None = None,
        started_by_entry_id: str | None = None,
    ) -> results.AdminConversationPage:
        """List the conversations that any conversation has started, oldest first.

        A child is a conversation for a delegated task: see `startedByConversationId` at
        appendEntry. With `started_by_entry_id` only those that the entry has started.
        """
        return await self._call(
            SHAPES["adminListChildren"],
            {
                "conversationId": conversation_id,
                "justification": justification,
                "limit": limit,
                "afterCursor": after_cursor,
                "startedByEntryId": started_by_entry_id,
            },
            results.AdminConversationPage.of,
        )

    async def admin_look_up_entry(
        self, conversation_id: str, *, key: str, justification: str | None = None
    ) -> results.Entry:
        """Show the entry that any conversation shows under a key.

        For every member. Of several entries the nearest is shown: one of the conversation
        itself before an inherited one.
        """
        return await self._call(
            SHAPES["adminLookUpEntry"],
            {"conversationId": conversation_id, "justification": justification, "key": key},
            results.Entry.of,
        )

    async def admin_list_entries(
        self,
        conversation_id: str,
        *,
        justification: str | None = None,
        channel: str | None = None,
        limit: int | None = None,
        after_cursor: str | None = None,
        before_cursor: str | None = None,
        tail: bool | None = None,
        up_to_entry_id: str | None = None,
        all_forks: bool | None = None,
        forks: Literal["all"] | None = None,
        own: bool | None = None,
        alternatives: bool | None = None,
    ) -> results.EntryPage:
        """List what any conversation shows, oldest first, with the context of all clients and
        epochs.

        For every member. The cursors are ids of entries. `tail` gives the page at the end,
        still the oldest first. Users see the history; agents their own context as well. With
        `alternatives`, each history entry names the conversations that go on differently
        before it.
        """
        return await self._call(
            SHAPES["adminListEntries"],
            {
                "conversationId": conversation_id,
                "justification": justification,
                "channel": channel,
                "limit": limit,
                "afterCursor": after_cursor,
                "beforeCursor": before_cursor,
                "tail": tail,
                "upToEntryId": up_to_entry_id,
                "allForks": all_forks,
                "forks": forks,
                "own": own,
                "alternatives": alternatives,
            },
            results.EntryPage.of,
        )

    async def admin_get_entry(
        self, conversation_id: str, entry_id: str, *, justification: str | None = None
    ) -> results.Entry:
        """Show one entry that any conversation shows, of any client.

        For every member. Context is shown only to the agent that it belongs to.
        """
        return await self._call(
            SHAPES["adminGetEntry"],
            {"conversationId": conversation_id, "entryId": entry_id, "justification": justification},
            results.Entry.of,
        )

    async def admin_compare_conversations(
        self, conversation_id: str, *, with_: str, justification: str | None = None, limit: int | None = None
    ) -> results.Comparison:
        """Compare two conversations of a fork tree: where they part, and how each goes on.

        For every member. `base` is the last history entry that both show. `data` begins after
        it; `list_entries` with `channel=history` goes on from an `afterCursor`.
        """
        return await self._call(
            SHAPES["adminCompareConversations"],
            {
                "conversationId": conversation_id,
                "justification": justification,
                "with": with_,
                "limit": limit,
            },
            results.Comparison.of,
        )

    async def admin_list_ancestors(
        self, conversation_id: str, *, justification: str | None = None
    ) -> results.Ancestors:
        """List the conversations whose entries a conversation shows, the oldest first, and
        itself.

        For every member.
        """
        return await self._call(
            SHAPES["adminListAncestors"],
            {"conversationId": conversation_id, "justification": justification},
            results.Ancestors.of,
        )

    async def admin_search_conversations(
        self,
        *,
        query: str,
        justification: str | None = None,
        limit: int | None = None,
        after_cursor: str | None = None,
        search_type: Literal["auto", "fulltext", "semantic"]
        | Sequence[Literal["fulltext", "semantic"]]
        | None = None,
        include_entry: bool | None = None,
        user_id: str | None = None,
    ) -> results.SearchPage:
        """Find the entries that have all words of a query, in everybody's history or in one
        user's.
        """
        return await self._call(
            SHAPES["adminSearchConversations"],
            {
                "justification": justification,
                "query": query,
                "limit": limit,
                "afterCursor": after_cursor,
                "searchType": search_type,
                "includeEntry": include_entry,
                "userId": user_id,
            },
            results.SearchPage.of,
        )

    async def admin_list_memberships(
        self,
        conversation_id: str,
        *,
        justification: str | None = None,
        limit: int | None = None,
        after_cursor: str | None = None,
    ) -> results.MembershipPage:
        """List who may use the conversation's fork tree, oldest first.

        For every member.
        """
        return await self._call(
            SHAPES["adminListMemberships"],
            {
                "conversationId": conversation_id,
                "justification": justification,
                "limit": limit,
                "afterCursor": after_cursor,
            },
            results.MembershipPage.of,
        )

    async def admin_list_names(
        self,
        *,
        user_id: str,
        justification: str | None = None,
        limit: int | None = None,
        after_cursor: str | None = None,
    ) -> results.AdminNamePage:
        """List all names of a user: those without a client, then client by client."""
        return await self._call(
            SHAPES["adminListNames"],
            {"justification": justification, "limit": limit, "afterCursor": after_cursor, "userId": user_id},
            results.AdminNamePage.of,
        )

    async def admin_look_up_name(
        self, *, name: str, user_id: str, justification: str | None = None, client_id: str | None = None
    ) -> results.AdminName:
        """Show a name of any user and where it points.

        `deleted` says that you cannot see its conversation any more.
        """
        return await self._call(
            SHAPES["adminLookUpName"],
            {"justification": justification, "name": name, "userId": user_id, "clientId": client_id},
            results.AdminName.of,
        )

    async def admin_delete_conversation(
        self,
        conversation_id: str,
        *,
        justification: str | None = None,
        scope: Literal["tree", "branch"] | None = None,
    ) -> None:
        """Delete the conversation's whole fork tree, or with `scope=branch` this branch alone.

        Every tree started from what is deleted goes with it. The tree is for the owner. A
        branch is for managers: other branches keep what they inherited from it. Deleting the
        last branch is deleting the tree. 202 says that closing a very wide tree goes on in
        the background. The ids cannot be used again for 30 days.
        """
        await self._call(
            SHAPES["adminDeleteConversation"],
            {"conversationId": conversation_id, "justification": justification, "scope": scope},
            nothing,
        )

    async def admin_delete_name(
        self,
        *,
        name: str,
        user_id: str,
        justification: str | None = None,
        client_id: str | None = None,
        expect_revision: int | None = None,
    ) -> None:
        """Delete a name of any user; its conversation stays as it is.

        The name can be used again at once. `expect_revision` deletes it only if nobody has
        moved it meanwhile.
        """
        await self._call(
            SHAPES["adminDeleteName"],
            {
                "justification": justification,
                "name": name,
                "userId": user_id,
                "clientId": client_id,
                "expectRevision": expect_revision,
            },
            nothing,
        )

    async def admin_erase_user(
        self, *, user_id: str, justification: str | None = None, idempotency_key: str | None = None
    ) -> results.Erasure:
        """Erase a user: delete their trees, end their memberships, and erase what they wrote
        elsewhere.

        The answer comes at once; the work goes on in the background. Every tree that the user
        owns is deleted. In the trees of others the user's entries stay where they are,
        without content and with `erased`, under a random pseudonym. Stop the user's logins
        first: what the user writes meanwhile delays the end.
        """
        return await self._call(
            SHAPES["adminEraseUser"],
            {"justification": justification, "userId": user_id},
            results.Erasure.of,
            idempotency_key=idempotency_key,
        )

    async def admin_get_erasure(
        self, erasure_id: str, *, justification: str | None = None
    ) -> results.Erasure:
        """Show how far an erasure has come. It does not name the user."""
        return await self._call(
            SHAPES["adminGetErasure"],
            {"erasureId": erasure_id, "justification": justification},
            results.Erasure.of,
        )
