"""Random requests about attachments."""

import hashlib
from base64 import b64encode
from collections.abc import Sequence

from tests.service.model.asking import Caller, Json, Request
from tests.service.model.choices import Choices
from tests.service.model.comparing import Comparison

CONTENTS = (b"a cat", b"a dog", b"\x00\xff", "Zürich".encode())
TYPES = ("image/png", "text/plain")


class Attaching:
    """Requests that upload attachments and read them."""

    def __init__(self, both: Comparison, choose: Choices, admins: Sequence[Caller]) -> None:
        self._both = both
        self._admins = admins
        self._choose = choose

    def upload_attachment(self) -> None:
        content = self._choose.one_of(*CONTENTS)
        said: Json = {"name": self._choose.file_name(), "contentType": self._choose.one_of(*TYPES)}
        said |= {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        said |= {"content": b64encode(content).decode()}
        self._both.ask(Request("uploadAttachment", self._choose.caller(), said))

    def get_attachment(self) -> None:
        oracle, caller, name = self._both.oracle, self._choose.caller(), "getAttachment"
        sure = [one for one, file in oracle.files.items() if oracle.is_sure(caller, file)]
        given: Json = {"attachmentId": self._choose.one_of(*sure, self._choose.new_id())}
        if self._admins and self._choose.chance(0.2):
            caller, name = self._choose.one_of(*self._admins), "adminGetAttachment"
            given |= self._choose.justification()
        else:
            name = self._choose.one_of(name, "getAttachmentContent")
            given |= self._choose.some_of(conversationId=self._choose.target()[0])
        self._both.ask(Request(name, caller, given))

    def administer_attachments(self) -> None:
        """List the attachments of a user, if it is sure which are there; or remove one."""
        oracle = self._both.oracle
        if not self._admins:
            return
        admin = self._choose.one_of(*self._admins)
        user = self._choose.one_of(*self._choose.users)
        own = {one: file for one, file in oracle.files.items() if file.owner == user}
        if not all(map(oracle.stays, own.values())):
            return
        why = self._choose.justification()
        if own and self._choose.chance(0.5):
            given = {"attachmentId": self._choose.one_of(*own), **why}
            self._both.ask(Request("adminRemoveAttachment", admin, given))
        self._both.ask_list(Request("adminListAttachments", admin, {"userId": user, **why}))
