"""A local server in a thread, and a Lambda client of boto3's form that runs the real handler."""

import io
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from botocore.exceptions import ClientError

from forklore_local.server import invocation
from forklore_local.server.callers import Callers
from forklore_local.server.cors import with_cors
from forklore_local.server.files import ServedObjects, with_files
from forklore_local.server.gateway import Gateway
from forklore_local.server.identity import read_authorizer
from forklore_local.server.server import _listen, _url, is_wanted
from forklore_service.aws.wiring import open_objects
from tests.service.aws.direct import AGENT
from tools.deployment.template import Template
from tools.harness.gateway import AGENTS

STARTS_SECONDS_MAX = 60.0
ROLES = {"FORKLORE_ADMINS": "adam", "FORKLORE_AUDITORS": "aude"}
"""Who has roles, as the local server's settings name them."""


@contextmanager
def served(template: Template) -> Iterator[str]:
    """Serve the functions of this process over HTTP, from a thread; yield the address."""
    keys = ",".join(f"{client}={key}" for client, key in AGENTS.items())
    gateway = Gateway(template.functions, authorize=read_authorizer({"FORKLORE_API_KEYS": keys, **ROLES}))
    settings: dict[str, Any] = {"http": "h11", "ws": "none", "lifespan": "off", "log_config": None}
    objects = open_objects()
    assert isinstance(objects, ServedObjects)
    app = with_cors(with_files(gateway, objects, is_wanted), Callers())
    server = uvicorn.Server(uvicorn.Config(app, access_log=False, **settings))
    listener = _listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    give_up_at = time.monotonic() + STARTS_SECONDS_MAX
    while not server.started and time.monotonic() < give_up_at:
        time.sleep(0.01)
    try:
        yield _url(listener)
    finally:
        server.should_exit = True
        thread.join(STARTS_SECONDS_MAX)


class InvokesHere:
    """What the client uses of boto3's Lambda client. It runs the function `agent` in this process.

    The request and the answer pass through JSON text, as Lambda's own runtime reads and writes it.
    """

    def __init__(self, template: Template) -> None:
        [self._function] = [one for one in template.functions if one.module == AGENT]
        self._handler = invocation.load_handler(self._function)

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        """Return what boto3 returns for a synchronous invocation."""
        assert (FunctionName, InvocationType) == ("AgentFunction", "RequestResponse")
        meta = {"RequestId": "of lambda", "HTTPStatusCode": 200}
        try:
            answer = invocation.invoke(self._function, self._handler, json.loads(Payload))
        except invocation.EventTooLargeError as error:
            meta["HTTPStatusCode"] = 413
            said: Any = {"Error": {"Code": "RequestTooLargeException"}, "ResponseMetadata": meta}
            raise ClientError(said, "Invoke") from error
        except invocation.HandlerError:
            failed = {"FunctionError": "Unhandled", "Payload": io.BytesIO(b'{"errorType":"X"}')}
            return {"StatusCode": 200, "ResponseMetadata": meta, **failed}
        text = json.dumps(answer, ensure_ascii=False).encode()
        return {"StatusCode": 200, "ResponseMetadata": meta, "Payload": io.BytesIO(text)}
