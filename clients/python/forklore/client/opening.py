"""Makes transports. What each needs is imported here, when a client is made."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from forklore.client.transports import AsyncTransport, Transport
from forklore.client.transports.direct import Identity

if TYPE_CHECKING:
    import httpx2

    from forklore.client.transports.http import AsyncCredential, Credential
    from forklore.client.transports.in_process import Model


def over_http(
    url: str, token: "Credential", client_key: "Credential", http: "httpx2.Client | None"
) -> Transport:
    """Return the transport over HTTP. Raises InputError for what is no address."""
    from forklore.client.transports.http import HttpTransport

    return HttpTransport(url, token=token, client_key=client_key, client=http)


def async_over_http(
    url: str, token: "AsyncCredential", client_key: "AsyncCredential", http: "httpx2.AsyncClient | None"
) -> AsyncTransport:
    """Return the transport over HTTP. Raises InputError for what is no address."""
    from forklore.client.transports.http import AsyncHttpTransport

    return AsyncHttpTransport(url, token=token, client_key=client_key, client=http)


def on_lambda(function: str, identity: Identity, boto_client: Any) -> Transport:
    """Return the transport that invokes a function."""
    from forklore.client.transports.on_lambda import LambdaTransport

    return LambdaTransport(function, identity, client=boto_client)


def async_on_lambda(function: str, identity: Identity, boto_client: Any) -> AsyncTransport:
    """Return the transport that invokes a function."""
    from forklore.client.transports.on_lambda import AsyncLambdaTransport, LambdaTransport

    return AsyncLambdaTransport(LambdaTransport(function, identity, client=boto_client))


def in_process(data: str | Path | None, identity: Identity, recall: "Model | None" = None) -> Transport:
    """Return the transport to a service in this process. Raises InputError."""
    from forklore.client.transports.in_process import InProcessTransport

    return InProcessTransport.open(data, identity, recall)


def async_in_process(
    data: str | Path | None, identity: Identity, recall: "Model | None" = None
) -> AsyncTransport:
    """Return the transport to a service in this process, which the first call opens."""
    from forklore.client.transports.in_process import AsyncInProcessTransport

    return AsyncInProcessTransport.open(data, identity, recall)
