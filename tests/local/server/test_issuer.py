"""A server whose users have tokens of an issuer, which publishes its keys over HTTPS."""

import json
import signal
import time
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from forklore_local.server.token import AUDIENCE, development_key, key_set, make_token
from tests.local.server.receiving import wait_until
from tests.local.server.test_server import running
from tests.service.credentials.publisher import Publisher, certified, publishing


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_knows_the_users_of_an_issuer_and_hup_loses_none_of_them(
    tmp_path: Path, workers: str
) -> None:
    key, other = (development_key(tmp_path / name) for name in ("one.pem", "other.pem"))
    tls, _ = certified(tmp_path)
    config = tmp_path / "forklore.toml"
    with publishing(tls, json.dumps(key_set(key))) as issuer:
        lines = f"data = 'data'\nworkers = {workers}\nport = 0\nissuer = '{issuer.issuer}'\nlog = 'json'\n"
        config.write_text(f"{lines}audience = ['{AUDIENCE}']\n")
        options = {"last_line": "Ctrl+C", "SSL_CERT_FILE": str(tmp_path / "certificate.pem")}
        with running("--config", str(config), **options) as local:

            def statuses(token: str, path: str = "/v1/conversations", **headers: str) -> set[int]:
                """Return what each worker answers."""
                held = {"Authorization": f"Bearer {token}", **headers}
                return {
                    httpx.get(local.url + path, headers=held, timeout=60).status_code
                    for _ in range(2 * int(workers))
                }

            def token(signing: ec.EllipticCurvePrivateKey = key, audience: str = AUDIENCE) -> str:
                return _token(issuer, signing, audience)

            good, audited = token(), "/v1/admin/conversations?userId=ann"
            assert statuses(good) == {200}
            assert statuses(token(other)) == statuses(token(audience="us")) == statuses("ann") == {401}
            assert (statuses(good, audited), issuer.fetches) == ({403}, int(workers))

            issuer.fail()
            config.write_text(
                f"{lines}audience = ['us', '{AUDIENCE}']\nadmins = ['ann']\nclient = ['a=key']\n"
            )
            local.process.send_signal(signal.SIGHUP)
            wait_until(lambda: statuses(good, audited, **{"X-API-Key": "key"}) == {200})
            assert statuses(token(audience="us")) == {200}
            assert issuer.fetches == int(workers)
            assert local.stop()[0] == 0


def _token(issuer: Publisher, signing: ec.EllipticCurvePrivateKey, audience: str) -> str:
    return make_token("ann", signing, issuer=issuer.issuer, audience=audience, hours=1, now=time.time())
