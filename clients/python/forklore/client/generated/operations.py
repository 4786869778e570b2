"""Every operation of the service: how it is called, what it takes, and what it answers.

Generated from the table of operations by `python -m tools.client`. Do not change it by hand.

An argument that is None is left out. A POST that writes gets an idempotency key if it has none.
Every method raises the errors of `forklore.client.errors`.
"""

# The functions only say what a method takes and returns.
# mypy: disable-error-code="empty-body"

from collections.abc import Mapping
from typing import Unpack

from forklore.client.calling import AsyncCalling, Calling, Method, operation
from forklore.client.calls import Shape
from forklore.client.decoding import nothing
from forklore.client.generated import arguments, results


class Methods:
    """Every operation of the service, under its name."""

    def __init_subclass__(cls) -> None:
        """Make each operation a function of the class, as mocks and `help` know methods."""
        for name, row in vars(Methods).items():
            if isinstance(row, Method):
                setattr(cls, name, getattr(cls, name))

    @operation("GET", "/v1/health", results.Health.of)
    def check_health(self) -> results.Health:
        """Tell that the service answers. It asks nothing of the table.

        Needs no credentials. On one machine it also tells the version, and is 503 with the
        `reason` while the store cannot be used.
        """

    @operation("POST", "/v1/conversations", results.ConversationDetails.of, unlimited=("userId",))
    def create_conversation(
        self, **given: Unpack[arguments.CreateConversation]
    ) -> results.ConversationDetails:
        """Create a conversation without entries.

        You become its owner. Without an `id` the service chooses one. Appending to an id that
        does not exist creates the conversation, too.
        """

    @operation("GET", "/v1/conversations", results.ConversationPage.of)
    def list_conversations(self, **given: Unpack[arguments.ListConversations]) -> results.ConversationPage:
        """List the caller's conversations, tree by tree, the tree that was used last first.

        With `order=created` the newest root comes first. `mode` chooses which conversations
        of a fork tree are shown, `query` those with a text in their title, `agent_id` and
        `tag` (`name` or `name:value`) those that have them; `pinned` only what you have
        pinned, in the order of your pins. A page may be short, even empty: only an
        `after_cursor` of null ends the list.
        """

    @operation("GET", "/v1/conversations/{conversationId}", results.ConversationDetails.of)
    def get_conversation(
        self, conversation_id: str, **given: Unpack[arguments.Watched]
    ) -> results.ConversationDetails:
        """Show a conversation.

        For every member of its fork tree.
        """

    @operation(
        "PATCH",
        "/v1/conversations/{conversationId}",
        results.ConversationDetails.of,
        unlimited=("userId",),
        nulls=("title",),
    )
    def update_conversation(
        self, conversation_id: str, **given: Unpack[arguments.UpdateConversation]
    ) -> results.ConversationDetails:
        """Replace a conversation's title, tags or metadata.

        For writers. What the body names is replaced as a whole, the rest stays. `title: null`
        clears the title. With `if_match` only if `updatedAt` has not changed.
        """

    @operation("POST", "/v1/conversations/{conversationId}/scores", nothing)
    def set_scores(self, conversation_id: str, **given: Unpack[arguments.SetScores]) -> None:
        """Score conversations of the fork tree, all or none: what evaluations say of tries.

        For writers. A score is the number `score` in a conversation's metadata; the rest of
        its metadata stays. Each conversation's `updatedAt` moves.
        """

    @operation("DELETE", "/v1/conversations/{conversationId}", nothing)
    def delete_conversation(
        self, conversation_id: str, **given: Unpack[arguments.DeleteConversation]
    ) -> None:
        """Delete the conversation's whole fork tree, or with `scope=branch` this branch alone.

        Every tree started from what is deleted goes with it. The tree is for the owner, a
        branch for managers: other branches keep what they inherited from it. Either can be
        restored while it is in the trash; `for_good` takes it out, or never puts it there.
        Deleting the last branch is deleting the tree. 202 says that closing a very wide tree
        goes on in the background. An id cannot be used again for 30 days after its tree has
        left the trash.
        """

    @operation("GET", "/v1/trash", results.TrashPage.of)
    def list_trash(self, **given: Unpack[arguments.ListTrash]) -> results.TrashPage:
        """List the fork trees and branches that you can restore, those of the newest tree first.

        What went only with the conversation that had started it comes back with that, and is
        not listed. A page may be short, even empty: only an `after_cursor` of null ends the
        list.
        """

    @operation(
        "POST", "/v1/conversations/{conversationId}/restore", results.ConversationDetails.of, has_body=False
    )
    def restore_conversation(self, conversation_id: str) -> results.ConversationDetails:
        """Restore a deleted branch, or the fork tree of a conversation, with all that went with
        it.

        For the owner; a branch for whoever may delete it. Members, names, lists and
        attachments are as they were, and a tree's retention begins anew. A conversation that
        is not deleted is answered as it is. What had been started by a conversation comes
        back after that one.
        """

    @operation(
        "POST", "/v1/conversations/{conversationId}/fork", results.forked, unlimited=("name", "userId")
    )
    def fork_conversation(
        self, conversation_id: str, **given: Unpack[arguments.ForkConversation]
    ) -> results.Forked:
        """Fork a conversation before or after an entry, or at its head. Nothing is copied.

        For writers. The fork shows what its source showed up to `at_entry_id`, excluded or
        included as `position` says, or everything without it. Later entries of either are not
        shown in the other. With `count` that many equal forks are made, and the answer is
        `{"data": […]}`. With `promote` the fork becomes the tree's current branch.
        """

    @operation("POST", "/v1/conversations/{conversationId}/promote", nothing, has_body=False)
    def promote_conversation(self, conversation_id: str, **given: Unpack[arguments.Keyed]) -> None:
        """Make a conversation the current branch of its fork tree.

        For writers. The last promotion wins. Until one is made, the root is the current
        branch.
        """

    @operation("GET", "/v1/conversations/{conversationId}/forks", results.ForkPage.of)
    def list_forks(self, conversation_id: str, **given: Unpack[arguments.ListForks]) -> results.ForkPage:
        """List every conversation of the fork tree, the root and the asked one included, oldest
        first.

        For every member. Each says where it was forked, and which entry of the history it
        shows last. With `missing=empty` a conversation that does not exist is an empty list
        and no 404.
        """

    @operation("GET", "/v1/conversations/{conversationId}/children", results.ConversationPage.of)
    def list_children(
        self, conversation_id: str, **given: Unpack[arguments.ListChildren]
    ) -> results.ConversationPage:
        """List the conversations that this one has started, oldest first, as far as you may see
        them.

        A child is a conversation for a delegated task: see `startedByConversationId` at
        appendEntry. With `started_by_entry_id` only those that the entry has started.
        """

    @operation(
        "POST", "/v1/conversations/{conversationId}/entries", results.appended, unlimited=("name", "userId")
    )
    def append_entry(self, conversation_id: str, **given: Unpack[arguments.AppendEntry]) -> results.Appended:
        """Append one entry, or several at once; a conversation that does not exist is created.

        For writers. An unknown conversation is created; with `forked_at_conversation_id` as a
        fork, with `started_by_conversation_id` as a child. `if_match` appends only behind the
        entry that it names, and `promote` makes the conversation its tree's current branch.
        Only agents may write to the `context` channel, and give `context`: their whole
        present context, which is synced in the same step.
        """

    @operation(
        "POST", "/v1/conversations/{conversationId}/entries/sync", results.Synced.of, unlimited=("userId",)
    )
    def sync_context(self, conversation_id: str, **given: Unpack[arguments.SyncContext]) -> results.Synced:
        """Bring an agent's stored context to its present one: nothing, the rest, or a new epoch
        is written.

        For agents: authorize with an API key as well (`client`). `content` is the whole
        present context; the service compares it with the stored one and writes the
        difference.
        """

    @operation("GET", "/v1/conversations/{conversationId}/entries/lookup", results.Entry.of)
    def look_up_entry(self, conversation_id: str, **given: Unpack[arguments.LookUpEntry]) -> results.Entry:
        """Show the entry that a conversation shows under a key.

        For every member. Of several entries the nearest is shown: one of the conversation
        itself before an inherited one.
        """

    @operation(
        "GET", "/v1/conversations/{conversationId}/entries", results.EntryPage.of, unlimited=("upToEntryId",)
    )
    def list_entries(self, conversation_id: str, **given: Unpack[arguments.ListEntries]) -> results.EntryPage:
        """List what a conversation shows, oldest first; with `all_forks` every entry of its fork
        tree.

        For every member. The cursors are ids of entries. `tail` gives the page at the end,
        still the oldest first. Users see the history; agents their own context as well. With
        `alternatives`, each history entry names the conversations that go on differently
        before it. With `view` = `line` each entry has a `line` in place of its content.
        """

    @operation("GET", "/v1/conversations/{conversationId}/entries/{entryId}", results.Entry.of)
    def get_entry(self, conversation_id: str, entry_id: str) -> results.Entry:
        """Show one entry that a conversation shows.

        For every member. Context is shown only to the agent that it belongs to.
        """

    @operation("GET", "/v1/conversations/{conversationId}/compare", results.Comparison.of)
    def compare_conversations(
        self, conversation_id: str, **given: Unpack[arguments.CompareConversations]
    ) -> results.Comparison:
        """Compare two conversations of a fork tree: where they part, and how each goes on.

        For every member. `base` is the last history entry that both show. `data` begins after
        it; `list_entries` with `channel=history` goes on from an `afterCursor`.
        """

    @operation("GET", "/v1/conversations/{conversationId}/ancestors", results.Ancestors.of)
    def list_ancestors(self, conversation_id: str) -> results.Ancestors:
        """List the conversations whose entries a conversation shows, the oldest first, and
        itself.

        For every member.
        """

    @operation("POST", "/v1/conversations/{conversationId}/answers", results.AnswerStatus.of)
    def begin_answer(
        self, conversation_id: str, **given: Unpack[arguments.BeginAnswer]
    ) -> results.AnswerStatus:
        """Begin an answer that is written piece by piece, after an entry that the conversation
        shows.

        For writers. A conversation has one such answer at a time. One into which nothing was
        written for 30 seconds is ended for the new one, and so is one of the same user and
        client: with `take_over` `true` any other one, too, with `false` none of these. An
        append with its `answerId` finishes it, in this conversation or in a fork. `if_match`
        as for appendEntry. Everything of it is gone 24 hours after it was begun.
        """

    @operation("POST", "/v1/conversations/{conversationId}/answers/{answerId}/parts", results.AppendedPart.of)
    def append_to_answer(
        self, conversation_id: str, answer_id: str, **given: Unpack[arguments.AppendToAnswer]
    ) -> results.AppendedPart:
        """Write the next piece of an answer.

        For the user who has begun it. `after` is the position of the piece before it; the
        beginning has 0. The same request again has the same answer, so it needs no
        `idempotency_key`. A piece without content says that somebody is still at it: send one
        at least every 30 seconds.
        """

    @operation("GET", "/v1/conversations/{conversationId}/answers/{answerId}", results.AnswerLog.of)
    def get_answer(
        self, conversation_id: str, answer_id: str, **given: Unpack[arguments.GetAnswer]
    ) -> results.AnswerLog:
        """Show an answer that is written piece by piece, with the pieces after a position.

        For every member. `position` in the answer is the `after` of the next request.
        """

    @operation(
        "POST",
        "/v1/conversations/{conversationId}/answers/{answerId}/stop",
        results.AnswerStatus.of,
        has_body=False,
    )
    def stop_answer(self, conversation_id: str, answer_id: str) -> results.AnswerStatus:
        """Stop an answer: nothing more is written to it.

        For writers. Who writes it learns it from the answer to the next piece, and finishes
        or deletes it; so may any other writer.
        """

    @operation("DELETE", "/v1/conversations/{conversationId}/answers/{answerId}", nothing)
    def delete_answer(self, conversation_id: str, answer_id: str) -> None:
        """End an answer without an entry.

        For writers. A finished one cannot be deleted.
        """

    @operation("POST", "/v1/conversations/{conversationId}/merge", results.Entries.of)
    def merge_conversation(
        self, conversation_id: str, **given: Unpack[arguments.MergeConversation]
    ) -> results.Entries:
        """Append copies of what another branch of the fork tree shows, all or none, in order.

        For writers. At most 50 history entries of the other branch: those after the last one
        that both branches show, or after `after_entry_id`, up to `up_to_entry_id` or the end.
        What the conversation has already is left out, unless `again`. A copy names its
        original and has no `usage`. `with_context` is for agents: in the same step their
        context becomes that of the other branch. 200 says that nothing was written.
        """

    @operation("POST", "/v1/conversations/{conversationId}/copy", results.ConversationDetails.of)
    def copy_conversation(
        self, conversation_id: str, **given: Unpack[arguments.CopyConversation]
    ) -> results.ConversationDetails:
        """Copy a conversation to a new fork tree that belongs to you alone.

        For every member. At most 1,000 history entries, all that the conversation shows or
        those up to `up_to_entry_id`. A copy names its original and has no `usage`. Without an
        `id` the service chooses one; with an `id`, the same request sent again goes on with a
        copy that did not end.
        """

    @operation("POST", "/v1/conversations/{conversationId}/copy-tree", results.ConversationDetails.of)
    def copy_tree(
        self, conversation_id: str, **given: Unpack[arguments.CopyTree]
    ) -> results.ConversationDetails:
        """Copy the whole fork tree of a conversation, with its branches, to one of your own.

        For every member. At most 30 branches and 1,000 entries, with the context of every
        client. Members, names, links, pins and notes stay behind, and an answer in progress.
        The answer is the copy of this conversation. With an `id`, the same request sent again
        completes a copy that did not end.
        """

    @operation("POST", "/v1/conversations/search", results.SearchPage.of, only_reads=True)
    def search_conversations(self, **given: Unpack[arguments.SearchConversations]) -> results.SearchPage:
        """Find the entries that have words of a query, those that fit best first.

        It looks through the history of every conversation that you may see, or of the one
        with `conversation_id`: texts, events, tools, file names, `indexedContent` and
        `agentId`. `+word` and `"some words"` must occur, anywhere; a query of these alone
        finds the newest first. A page may be short, even empty: only an `after_cursor` of
        null ends the search.
        """

    @operation("GET", "/v1/conversations/{conversationId}/memberships", results.MembershipPage.of)
    def list_memberships(
        self, conversation_id: str, **given: Unpack[arguments.ListTrash]
    ) -> results.MembershipPage:
        """List who may use the conversation's fork tree, oldest first.

        For every member.
        """

    @operation("POST", "/v1/conversations/{conversationId}/memberships", results.Membership.of)
    def share_conversation(
        self, conversation_id: str, **given: Unpack[arguments.ShareConversation]
    ) -> results.Membership:
        """Make a user a member of the conversation's fork tree.

        Owners let managers, writers and readers in, managers writers and readers. It holds
        for every fork. With `children=include` also for what was started from here, where you
        may do so.
        """

    @operation(
        "PATCH",
        "/v1/conversations/{conversationId}/memberships",
        results.ChangedMembership.of,
        query=("children", "userId"),
    )
    def update_membership(
        self, conversation_id: str, **given: Unpack[arguments.UpdateMembership]
    ) -> results.ChangedMembership:
        """Change a member's access level.

        By the rules of sharing, for the level that the member has now and the new one. A
        lower level is also for what was started from here, unless `children=keep`. 202 says
        that this goes on in the background.
        """

    @operation("DELETE", "/v1/conversations/{conversationId}/memberships", results.RemovedMembership.of)
    def remove_membership(
        self, conversation_id: str, **given: Unpack[arguments.RemoveMembership]
    ) -> results.RemovedMembership:
        """End a membership: that of a member you have a say in, or your own.

        By the rules of sharing; everybody but the owner may leave. A transfer to the member
        goes, too. So do memberships of what was started from here, unless `children=keep`.
        202 says that this goes on in the background.
        """

    @operation("PUT", "/v1/conversations/{conversationId}/archive", nothing)
    def archive_conversation(self, conversation_id: str) -> None:
        """Archive the conversation's fork tree, for you alone.

        For every member. Your lists of conversations leave it out, unless they ask for it
        with `archived`. Nothing else changes, and nothing for other members.
        """

    @operation("DELETE", "/v1/conversations/{conversationId}/archive", nothing)
    def unarchive_conversation(self, conversation_id: str) -> None:
        """Take the conversation's fork tree out of your archive.

        For every member.
        """

    @operation(
        "POST", "/v1/conversations/{conversationId}/links", results.CreatedLink.of, unlimited=("upToEntryId",)
    )
    def create_link(self, conversation_id: str, **given: Unpack[arguments.CreateLink]) -> results.CreatedLink:
        """Make a link by which people without an account read the conversation.

        For managers. It shows the history up to now, or up to `up_to_entry_id`, and nothing
        that is said later; with `all_forks` the whole fork tree, and what is said later, too.
        It ends after `days`, with the conversation, and with a transfer unless
        `keep_on_transfer`. The `secret` is told only in this answer, and again to who repeats
        the request with its `idempotency_key`.
        """

    @operation("GET", "/v1/conversations/{conversationId}/links", results.LinkPage.of)
    def list_links(self, conversation_id: str, **given: Unpack[arguments.ListTrash]) -> results.LinkPage:
        """List the links to the conversation's fork tree that have not ended, oldest first.

        For managers. Nobody can see their secrets.
        """

    @operation("DELETE", "/v1/conversations/{conversationId}/links/{linkId}", nothing)
    def delete_link(self, conversation_id: str, link_id: str) -> None:
        """End a link at once.

        For managers. Its `id` comes from createLink or listLinks.
        """

    @operation("PUT", "/v1/conversations/{conversationId}/pin", nothing)
    def pin_conversation(self, conversation_id: str, **given: Unpack[arguments.PinConversation]) -> None:
        """Pin the conversation's fork tree, for you alone, or move the pin among yours.

        For every member. It comes first, or after the pinned tree of `after_conversation_id`.
        Lists of conversations show `pinned`, and with `pinned=true` only your pins, in this
        order.
        """

    @operation("DELETE", "/v1/conversations/{conversationId}/pin", nothing)
    def unpin_conversation(self, conversation_id: str) -> None:
        """Unpin the conversation's fork tree.

        For every member.
        """

    @operation("POST", "/v1/ownership-transfers", results.Transfer.of, unlimited=("userId",))
    def request_transfer(self, **given: Unpack[arguments.RequestTransfer]) -> results.Transfer:
        """Offer the ownership of a conversation's fork tree to a member.

        For the owner. The member has to accept it; one can be pending at a time.
        """

    @operation("GET", "/v1/ownership-transfers", results.TransferPage.of)
    def list_transfers(self, **given: Unpack[arguments.ListTransfers]) -> results.TransferPage:
        """List the pending transfers that you have sent or that wait for you, oldest first.

        `role` chooses those that you have sent or that wait for you.
        """

    @operation("GET", "/v1/ownership-transfers/{transferId}", results.Transfer.of)
    def get_transfer(self, transfer_id: str) -> results.Transfer:
        """Show a pending transfer to its sender or recipient.

        Its `id` comes from requestTransfer or listTransfers. To everybody else it is 404.
        """

    @operation("DELETE", "/v1/ownership-transfers/{transferId}", nothing)
    def delete_transfer(self, transfer_id: str) -> None:
        """Cancel a transfer as its sender, or decline it as its recipient.

        Its `id` comes from requestTransfer or listTransfers. Nobody's level changes.
        """

    @operation("POST", "/v1/ownership-transfers/{transferId}/accept", nothing)
    def accept_transfer(self, transfer_id: str, **given: Unpack[arguments.Keyed]) -> None:
        """Become the owner; the sender becomes a manager.

        For the recipient. Its `id` comes from listTransfers.
        """

    @operation("GET", "/v1/links/{secret}", results.LinkedConversation.of)
    def open_link(self, secret: str, **given: Unpack[arguments.OpenLink]) -> results.LinkedConversation:
        """Show what a link leads to, and count that it was opened.

        For who has its secret, without credentials. A secret that is unknown, one whose link
        has ended and one of a deleted conversation get the same 404. What `conversation_id`
        asks for is not counted.
        """

    @operation("GET", "/v1/links/{secret}/entries", results.LinkedEntryPage.of)
    def list_linked_entries(
        self, secret: str, **given: Unpack[arguments.ListLinkedEntries]
    ) -> results.LinkedEntryPage:
        """List the history that a link shows, oldest first.

        For who has its secret, without credentials. There is no context in it, and nothing of
        members.
        """

    @operation("POST", "/v1/conversations/{conversationId}/entries/{entryId}/notes", results.Note.of)
    def add_note(
        self, conversation_id: str, entry_id: str, **given: Unpack[arguments.AddNote]
    ) -> results.Note:
        """Write a note on a history entry that the conversation shows: a text, a score, or both.

        Or pin the entry; the answer of one that is pinned already is its pin. For writers. A
        note belongs to the entry, so every branch that shows the entry shows it. It is no
        part of a history, and no context; no search finds it, and no link shows it.
        """

    @operation("GET", "/v1/conversations/{conversationId}/notes", results.NotePage.of)
    def list_notes(self, conversation_id: str, **given: Unpack[arguments.ListNotes]) -> results.NotePage:
        """List the notes on what the conversation shows, in the order of its entries.

        For every member. With `entry_id` those on this entry, oldest first. With `all_forks`
        those on all that its fork tree shows, conversation by conversation.
        """

    @operation("DELETE", "/v1/conversations/{conversationId}/entries/{entryId}/notes/{noteId}", nothing)
    def delete_note(self, conversation_id: str, entry_id: str, note_id: str) -> None:
        """Delete a note.

        For who has written it, and for managers; a pin for every writer.
        """

    @operation("POST", "/v1/names", results.Name.of)
    def set_name(self, **given: Unpack[arguments.SetName]) -> results.Name:
        """Make a name, or point it to another conversation.

        For every member of the conversation. A name is yours: names of other users and of
        other clients never meet. `expect_revision` moves it only if nobody has moved it
        meanwhile.
        """

    @operation("GET", "/v1/names", results.NamePage.of)
    def list_names(self, **given: Unpack[arguments.ListNames]) -> results.NamePage:
        """List your names that begin with `prefix`, in the order of their UTF-8 bytes.

        An agent lists the names of its own client. A name whose conversation you cannot see
        any more is `deleted`.
        """

    @operation("GET", "/v1/names/lookup", results.Name.of)
    def look_up_name(self, **given: Unpack[arguments.LookUpName]) -> results.Name:
        """Show a name and where it points.

        `deleted` says that you cannot see its conversation any more.
        """

    @operation("DELETE", "/v1/names", nothing)
    def delete_name(self, **given: Unpack[arguments.DeleteName]) -> None:
        """Delete a name; its conversation stays as it is.

        The name can be used again at once. `expect_revision` deletes it only if nobody has
        moved it meanwhile.
        """

    @operation("POST", "/v1/names/entries", results.appended, unlimited=("userId",))
    def append_entry_by_name(self, **given: Unpack[arguments.AppendEntryByName]) -> results.Appended:
        """Append to the conversation that a name points to; a name that does not exist is made.

        The first append by a name makes the conversation and the name at once. Later ones
        follow the name, even if it moves at the same moment; one whose caller cannot see the
        conversation any more makes a new one, which takes the name. The rest of the body is
        that of appendEntry. `data` replaces the name's.
        """

    @operation("GET", "/v1/names/entries", results.EntryPage.of, unlimited=("upToEntryId",))
    def list_entries_by_name(self, **given: Unpack[arguments.ListEntriesByName]) -> results.EntryPage:
        """List what the conversation shows that a name points to, oldest first.

        For every member. The parameters and the answer are those of `list_entries`.
        """

    @operation("POST", "/v1/attachments", results.UploadedAttachment.of, unlimited=("content",))
    def upload_attachment(self, **given: Unpack[arguments.UploadAttachment]) -> results.UploadedAttachment:
        """Begin to upload a file, or upload a small one at once.

        The answer has an id, which an entry then names among the `attachments` of its
        content. Without `content` in the request it says, in `upload`, where to send the
        bytes. What no entry names is gone after a day. The same bytes again, with the same
        type, are the same attachment.
        """

    @operation("GET", "/v1/attachments/{attachmentId}", results.Attachment.of)
    def get_attachment(self, attachment_id: str, **given: Unpack[arguments.OpenLink]) -> results.Attachment:
        """Show an attachment, with a link to its bytes that is valid for some minutes.

        For who has uploaded it, and for every member of a fork tree with an entry that names
        it. Of 100 trees that name it one is found; `conversation_id` says which one.
        """

    @operation("GET", "/v1/admin/conversations", results.AdminConversationPage.of)
    def admin_list_conversations(
        self, **given: Unpack[arguments.AdminListConversations]
    ) -> results.AdminConversationPage:
        """List everybody's conversations, or those of one user, tree by tree, the newest root
        first.
        """

    @operation("GET", "/v1/admin/conversations/{conversationId}", results.AdminConversation.of)
    def admin_get_conversation(
        self, conversation_id: str, **given: Unpack[arguments.AdminGetConversation]
    ) -> results.AdminConversation:
        """Show any conversation, with the client that its context is bound to.

        For every member of its fork tree.
        """

    @operation("GET", "/v1/admin/trash", results.TrashPage.of)
    def admin_list_trash(self, **given: Unpack[arguments.AdminListTrash]) -> results.TrashPage:
        """List the fork trees that a user has deleted and can restore, the newest tree first."""

    @operation("GET", "/v1/admin/conversations/{conversationId}/forks", results.ForkPage.of)
    def admin_list_forks(
        self, conversation_id: str, **given: Unpack[arguments.AdminListForks]
    ) -> results.ForkPage:
        """List every conversation of the fork tree, the root and the asked one included, oldest
        first.

        For every member. Each says where it was forked, and which entry of the history it
        shows last. With `missing=empty` a conversation that does not exist is an empty list
        and no 404.
        """

    @operation("GET", "/v1/admin/conversations/{conversationId}/children", results.AdminConversationPage.of)
    def admin_list_children(
        self, conversation_id: str, **given: Unpack[arguments.AdminListChildren]
    ) -> results.AdminConversationPage:
        """List the conversations that any conversation has started, oldest first.

        A child is a conversation for a delegated task: see `startedByConversationId` at
        appendEntry. With `started_by_entry_id` only those that the entry has started.
        """

    @operation("GET", "/v1/admin/conversations/{conversationId}/entries/lookup", results.Entry.of)
    def admin_look_up_entry(
        self, conversation_id: str, **given: Unpack[arguments.AdminLookUpEntry]
    ) -> results.Entry:
        """Show the entry that any conversation shows under a key.

        For every member. Of several entries the nearest is shown: one of the conversation
        itself before an inherited one.
        """

    @operation(
        "GET",
        "/v1/admin/conversations/{conversationId}/entries",
        results.EntryPage.of,
        unlimited=("upToEntryId",),
    )
    def admin_list_entries(
        self, conversation_id: str, **given: Unpack[arguments.AdminListEntries]
    ) -> results.EntryPage:
        """List what any conversation shows, oldest first, with the context of all clients and
        epochs.

        For every member. The cursors are ids of entries. `tail` gives the page at the end,
        still the oldest first. Users see the history; agents their own context as well. With
        `alternatives`, each history entry names the conversations that go on differently
        before it. With `view` = `line` each entry has a `line` in place of its content.
        """

    @operation("GET", "/v1/admin/conversations/{conversationId}/entries/{entryId}", results.Entry.of)
    def admin_get_entry(
        self, conversation_id: str, entry_id: str, **given: Unpack[arguments.Justified]
    ) -> results.Entry:
        """Show one entry that any conversation shows, of any client.

        For every member. Context is shown only to the agent that it belongs to.
        """

    @operation("GET", "/v1/admin/conversations/{conversationId}/compare", results.Comparison.of)
    def admin_compare_conversations(
        self, conversation_id: str, **given: Unpack[arguments.AdminCompareConversations]
    ) -> results.Comparison:
        """Compare two conversations of a fork tree: where they part, and how each goes on.

        For every member. `base` is the last history entry that both show. `data` begins after
        it; `list_entries` with `channel=history` goes on from an `afterCursor`.
        """

    @operation("GET", "/v1/admin/conversations/{conversationId}/ancestors", results.Ancestors.of)
    def admin_list_ancestors(
        self, conversation_id: str, **given: Unpack[arguments.Justified]
    ) -> results.Ancestors:
        """List the conversations whose entries a conversation shows, the oldest first, and
        itself.

        For every member.
        """

    @operation("GET", "/v1/admin/conversations/{conversationId}/answers/{answerId}", results.AnswerLog.of)
    def admin_get_answer(
        self, conversation_id: str, answer_id: str, **given: Unpack[arguments.AdminGetAnswer]
    ) -> results.AnswerLog:
        """Show an answer that is written piece by piece, with the pieces after a position.

        For every member. `position` in the answer is the `after` of the next request.
        """

    @operation(
        "POST",
        "/v1/admin/conversations/search",
        results.SearchPage.of,
        query=("justification",),
        only_reads=True,
    )
    def admin_search_conversations(
        self, **given: Unpack[arguments.AdminSearchConversations]
    ) -> results.SearchPage:
        """Find the entries that have words of a query, in everybody's history or in one user's."""

    @operation("GET", "/v1/admin/conversations/{conversationId}/memberships", results.MembershipPage.of)
    def admin_list_memberships(
        self, conversation_id: str, **given: Unpack[arguments.AdminListMemberships]
    ) -> results.MembershipPage:
        """List who may use the conversation's fork tree, oldest first.

        For every member.
        """

    @operation("GET", "/v1/admin/conversations/{conversationId}/links", results.LinkPage.of)
    def admin_list_links(
        self, conversation_id: str, **given: Unpack[arguments.AdminListMemberships]
    ) -> results.LinkPage:
        """List the links to the fork tree of any conversation, oldest first.

        For managers. Nobody can see their secrets.
        """

    @operation("GET", "/v1/admin/conversations/{conversationId}/notes", results.NotePage.of)
    def admin_list_notes(
        self, conversation_id: str, **given: Unpack[arguments.AdminListNotes]
    ) -> results.NotePage:
        """List the notes on what any conversation shows, in the order of its entries.

        For every member. With `entry_id` those on this entry, oldest first. With `all_forks`
        those on all that its fork tree shows, conversation by conversation.
        """

    @operation("GET", "/v1/admin/names", results.AdminNamePage.of)
    def admin_list_names(self, **given: Unpack[arguments.AdminListTrash]) -> results.AdminNamePage:
        """List all names of a user: those without a client, then client by client."""

    @operation("GET", "/v1/admin/names/lookup", results.AdminName.of)
    def admin_look_up_name(self, **given: Unpack[arguments.AdminLookUpName]) -> results.AdminName:
        """Show a name of any user and where it points.

        `deleted` says that you cannot see its conversation any more.
        """

    @operation("GET", "/v1/admin/attachments/{attachmentId}", results.AdminAttachment.of)
    def admin_get_attachment(
        self, attachment_id: str, **given: Unpack[arguments.Justified]
    ) -> results.AdminAttachment:
        """Show any attachment, with who has uploaded it.

        For who has uploaded it, and for every member of a fork tree with an entry that names
        it. Of 100 trees that name it one is found; `conversationId` says which one.
        """

    @operation("DELETE", "/v1/admin/conversations/{conversationId}", nothing)
    def admin_delete_conversation(
        self, conversation_id: str, **given: Unpack[arguments.AdminDeleteConversation]
    ) -> None:
        """Delete the conversation's whole fork tree, or with `scope=branch` this branch alone.

        Every tree started from what is deleted goes with it. The tree is for the owner, a
        branch for managers: other branches keep what they inherited from it. Either can be
        restored while it is in the trash; `for_good` takes it out, or never puts it there.
        Deleting the last branch is deleting the tree. 202 says that closing a very wide tree
        goes on in the background. An id cannot be used again for 30 days after its tree has
        left the trash.
        """

    @operation(
        "POST",
        "/v1/admin/conversations/{conversationId}/restore",
        results.AdminConversation.of,
        has_body=False,
    )
    def admin_restore_conversation(
        self, conversation_id: str, **given: Unpack[arguments.Justified]
    ) -> results.AdminConversation:
        """Restore the deleted fork tree of any conversation.

        For the owner; a branch for whoever may delete it. Members, names, lists and
        attachments are as they were, and a tree's retention begins anew. A conversation that
        is not deleted is answered as it is. What had been started by a conversation comes
        back after that one.
        """

    @operation("DELETE", "/v1/admin/names", nothing)
    def admin_delete_name(self, **given: Unpack[arguments.AdminDeleteName]) -> None:
        """Delete a name of any user; its conversation stays as it is.

        The name can be used again at once. `expect_revision` deletes it only if nobody has
        moved it meanwhile.
        """

    @operation("DELETE", "/v1/admin/conversations/{conversationId}/links/{linkId}", nothing)
    def admin_delete_link(
        self, conversation_id: str, link_id: str, **given: Unpack[arguments.Justified]
    ) -> None:
        """End a link to any conversation at once.

        For managers. Its `id` comes from createLink or listLinks.
        """

    @operation("DELETE", "/v1/admin/conversations/{conversationId}/entries/{entryId}/notes/{noteId}", nothing)
    def admin_delete_note(
        self, conversation_id: str, entry_id: str, note_id: str, **given: Unpack[arguments.Justified]
    ) -> None:
        """Delete a note on an entry of any conversation.

        For who has written it, and for managers; a pin for every writer.
        """

    @operation("GET", "/v1/admin/attachments", results.AdminAttachmentPage.of)
    def admin_list_attachments(
        self, **given: Unpack[arguments.AdminListTrash]
    ) -> results.AdminAttachmentPage:
        """List the attachments that a user has uploaded, in the order of their `sha256`."""

    @operation("DELETE", "/v1/admin/attachments/{attachmentId}", nothing)
    def admin_remove_attachment(self, attachment_id: str, **given: Unpack[arguments.Justified]) -> None:
        """Delete the bytes of an attachment, whoever shows it.

        Entries that name it stay as they are. Nobody can name it any more.
        """

    @operation("POST", "/v1/admin/erasures", results.Erasure.of, query=("justification",))
    def admin_erase_user(self, **given: Unpack[arguments.AdminEraseUser]) -> results.Erasure:
        """Erase a user: delete their trees, end their memberships, and erase what they wrote
        elsewhere.

        The answer comes at once; the work goes on in the background. Every tree that the user
        owns is deleted. In the trees of others the user's entries stay where they are,
        without content and with `erased`, under a random pseudonym. Stop the user's logins
        first: what the user writes meanwhile delays the end.
        """

    @operation("GET", "/v1/admin/erasures/{erasureId}", results.Erasure.of)
    def admin_get_erasure(self, erasure_id: str, **given: Unpack[arguments.Justified]) -> results.Erasure:
        """Show how far an erasure has come. It does not name the user."""


class Operations(Methods, Calling):
    """Every operation of the service, under its name."""


class AsyncOperations(Methods, AsyncCalling):
    """Every operation of the service, under its name, for asyncio and trio."""


SHAPES: Mapping[str, Shape] = {
    row.shape.name: row.shape for row in vars(Methods).values() if isinstance(row, Method)
}
"""By the name of the operation."""
