"""Clients of DynamoDB whose requests leave neither this process nor the store that answers them.

They look at no environment variable and at no file of the user's, and change neither. What a user
does with boto3 or with moto in the same process has no effect on them, nor they on that.
"""

from collections.abc import Callable
from typing import Any

from botocore import UNSIGNED
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.configprovider import BOTOCORE_DEFAUT_SESSION_VARIABLES, ConfigValueStore, ConstantProvider
from botocore.session import Session
from moto.core.models import botocore_stubber

from forklore.embedded.quiet import make_quiet
from forklore.storage.connection import client_settings
from forklore.storage.descriptions import descriptions

NOWHERE = "http://forklore.invalid"
"""No request is sent. If one were, it would reach nobody: RFC 2606 keeps `.invalid` free."""
REGION = "us-east-1"


def make_client(answer: Callable[[AWSPreparedRequest], AWSResponse]) -> Any:
    """Return a DynamoDB client, without credentials, whose every request `answer` answers.

    botocore logs none of its calls.
    """

    def answered(request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        return answer(request)

    session = _own_session()
    session.register("creating-client-class.dynamodb", make_quiet)
    client = session.create_client(
        "dynamodb",
        endpoint_url=NOWHERE,
        region_name=REGION,
        config=client_settings().merge(Config(signature_version=UNSIGNED)),
    )
    client.meta.events.register_first("before-send.dynamodb", answered)  # type: ignore[arg-type] # its answer counts
    return client


def _own_session() -> Session:
    """Return a session with botocore's own settings, without those of the user."""
    session = Session()
    settings = {name: default for name, (_, _, default, _) in BOTOCORE_DEFAUT_SESSION_VARIABLES.items()}
    settings |= {"config_file": None, "credentials_file": None}
    constants = {name: ConstantProvider(value) for name, value in settings.items()}
    session.register_component("config_store", ConfigValueStore(constants))
    session.register_component("data_loader", descriptions())
    handler: Any = botocore_stubber  # moto adds it to each new session
    session.unregister("before-send", handler)
    return session
