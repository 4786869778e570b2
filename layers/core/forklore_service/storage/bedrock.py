"""A model of Amazon Bedrock that makes vectors of texts: Titan Text Embeddings V2.

Source: the Bedrock user guide, "Amazon Titan Embeddings G1 - Text": a request takes one text of at
most 8,192 tokens and 50,000 characters, and returns 256, 512 or 1,024 numbers.
"""

import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from forklore_service.errors import TextRefusedError, UnavailableError
from forklore_service.storage.clients import make_session
from forklore_service.storage.schema import DIMENSIONS

MODEL_ID = "amazon.titan-embed-text-v2:0"
ASKED_AT_ONCE = 16
"""How many texts are under way at a time."""


def make_model_client(endpoint: str | None = None, *, region: str | None = None) -> Any:
    """Return a client of Bedrock's models. None: as in `make_client`."""
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 3},
        connect_timeout=2,
        read_timeout=5,
        max_pool_connections=ASKED_AT_ONCE,
    )
    return make_session().create_client(
        "bedrock-runtime", endpoint_url=endpoint, region_name=region, config=config
    )


class Titan:
    """Returns a vector of each text. Its client is made when the first is asked for.

    client: of Bedrock's models; None: AWS's own. Threads may share it.
    """

    def __init__(self, client: Any = None) -> None:
        self._made = client
        self._making = threading.Lock()

    def __call__(self, texts: list[str]) -> list[Sequence[float]]:
        """Raises UnavailableError, which names the error's code and nothing of a text."""
        with self._making:
            if self._made is None:
                self._made = make_model_client()
        if len(texts) < 2:
            return [self._vector_of(text) for text in texts]
        with ThreadPoolExecutor(min(ASKED_AT_ONCE, len(texts))) as threads:
            return [*threads.map(self._vector_of, texts)]

    def _vector_of(self, text: str) -> Sequence[float]:
        asked = json.dumps({"inputText": text, "dimensions": DIMENSIONS, "normalize": True})
        try:
            answer = self._made.invoke_model(
                modelId=MODEL_ID, body=asked, contentType="application/json", accept="application/json"
            )
            vector: list[float] = json.loads(answer["body"].read())["embedding"]
        except ClientError as error:
            code = error.response["Error"]["Code"]
            failure = TextRefusedError if code == "ValidationException" else UnavailableError
            raise failure(f"the model of recall failed: {code}") from None
        except (BotoCoreError, ValueError, KeyError, TypeError) as error:
            raise UnavailableError(f"the model of recall failed: {type(error).__name__}") from None
        return vector
