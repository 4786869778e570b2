"""Conversations of OpenHands' Software Agent SDK, kept in forklore.

A conversation is a name, which points to a conversation of forklore: the branch that OpenHands is
on. `navigate_to` begins a fork with the next event, and `fork` is one request at every size.
"""

import copy
import gc
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4
from weakref import WeakValueDictionary

from forklore import AsyncForklore, Forklore
from forklore.adapters.openhands.store import ForkloreFileStore
from forklore.extras import needing

with needing("openhands"):
    from openhands.sdk.agent.base import AgentBase
    from openhands.sdk.conversation.impl.local_conversation import LocalConversation
    from openhands.sdk.io import FileStore
    from openhands.sdk.utils.cipher import Cipher
    from openhands.sdk.workspace import LocalWorkspace

__all__ = ["Conversation", "ForkloreConversation", "ForkloreFileStore"]

FOLDER = "forklore"
"""In a `persistence_dir`, where no client is given."""
NOT_BUILT = ""
"""The leaf of a view that is to be built when it is asked for."""
_own_clients = WeakValueDictionary[str, Forklore]()


class ForkloreConversation(LocalConversation):
    """A `LocalConversation` that forklore keeps. `fork` copies nothing.

    client: of either kind, with the key of an agent, made and closed by the caller; None: one on
    the folder `forklore` in `persistence_dir`, without that in memory. prefix: of the names.
    file_store: in place of both; the SDK's own forks with copies. All others are those of
    `LocalConversation`.
    """

    def __init__(
        self,
        agent: AgentBase | None,
        workspace: str | Path | LocalWorkspace = "workspace/project",
        *,
        client: Forklore | AsyncForklore | None = None,
        prefix: str = "openhands/",
        persistence_dir: str | Path | None = None,
        conversation_id: UUID | None = None,
        file_store: FileStore | None = None,
        cipher: Cipher | None = None,
        **more: Any,
    ) -> None:
        conversation_id = conversation_id or uuid4()
        if file_store is None:
            used = _own_client(persistence_dir) if client is None else client
            file_store = ForkloreFileStore(used, conversation_id, prefix=prefix, cipher=cipher)
        self._file_store = file_store
        with _without_collections():
            super().__init__(
                agent,
                workspace,
                persistence_dir=persistence_dir,
                conversation_id=conversation_id,
                file_store=file_store,
                cipher=cipher,
                **more,
            )

    def fork(
        self,
        *,
        conversation_id: UUID | None = None,
        agent: AgentBase | None = None,
        title: str | None = None,
        tags: dict[str, str] | None = None,
        reset_metrics: bool = True,
        from_event_id: str | None = None,
    ) -> LocalConversation:
        """Return a conversation that begins with what this one has, in one request.

        All is as `LocalConversation.fork` says, but nothing is copied, and the cipher goes along.
        Raises ValueError for an unknown event, ConflictError if the id is in use.
        """
        if not isinstance(self._file_store, ForkloreFileStore):
            return super().fork(
                conversation_id=conversation_id,
                agent=agent,
                title=title,
                tags=tags,
                reset_metrics=reset_metrics,
                from_event_id=from_event_id,
            )
        if title is not None:
            warnings.warn("a LocalConversation has no title", DeprecationWarning, stacklevel=2)
        source = agent if agent is not None else self.agent
        own = type(source).model_validate(source.model_dump(context={"expose_secrets": True}))
        conversation_id = conversation_id or uuid4()
        with self._state as state:
            if from_event_id is not None and from_event_id not in self._file_store.ids():
                raise ValueError(f"Unknown from_event_id: {from_event_id}")
            store = self._file_store.fork(conversation_id, from_event_id)
            made = type(self)(
                agent=own,
                workspace=self.workspace,
                plugins=self._plugin_specs,
                persistence_dir=Path(state.persistence_dir).parent if state.persistence_dir else None,
                conversation_id=conversation_id,
                max_iteration_per_run=self.max_iteration_per_run,
                stuck_detection=self._stuck_detector is not None,
                visualizer=type(self._visualizer) if self._visualizer else None,
                delete_on_close=self.delete_on_close,
                cipher=self._cipher,
                tags=tags,
                file_store=store,
                _parent_llm_call_context=self._llm_call_context,
            )
            with made._state as forked:
                _fill(forked._events, store.ids())
                forked.leaf_event_id = from_event_id or state.leaf_event_id
                forked.head_is_empty = state.head_is_empty and from_event_id is None
                forked.activated_knowledge_skills = list(state.activated_knowledge_skills)
                forked.activated_path_rules = list(state.activated_path_rules)
                forked.agent_state = copy.deepcopy(state.agent_state)
                if not reset_metrics:
                    forked.stats = state.stats.model_copy(deep=True)
            forked._view_branch_leaf = NOT_BUILT
        try:
            store.commit()
        except BaseException:
            made.close()
            raise
        return made


Conversation = ForkloreConversation
"""The name that programs import from `openhands.sdk`."""


@contextmanager
def _without_collections() -> Iterator[None]:
    """Keep Python from searching for garbage, as a conversation that is read makes it do.

    OpenHands has a million objects, so each search takes long, and finds nothing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _fill(log: Any, ids: Sequence[str]) -> None:
    """Let an empty `EventLog` know the events of its store. It reads each at its first use."""
    log._idx_to_id = dict(enumerate(ids))
    log._id_to_idx = {event_id: at for at, event_id in enumerate(ids)}
    log._length = len(ids)


def _own_client(persistence_dir: str | Path | None) -> Forklore:
    """Return a client that lives as long as a conversation uses it."""
    if persistence_dir is None:
        return Forklore.local(user="me", client="openhands")
    folder = str(Path(persistence_dir).absolute() / FOLDER)
    made = _own_clients.get(folder)
    if made is None:
        made = _own_clients[folder] = Forklore.local(user="me", client="openhands", data=folder)
    return made
