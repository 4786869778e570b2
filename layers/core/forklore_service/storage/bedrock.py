"""Models of Amazon Bedrock that make vectors of texts: Titan Text Embeddings V2, Cohere Embed v4.

Sources: the Bedrock user guide. "Amazon Titan Embeddings G1 - Text": a request takes one text of at
most 8,192 tokens and 50,000 characters, and returns 256, 512 or 1,024 numbers. "Cohere Embed v4": a
request takes up to 96 texts, and says whether they are searched or searched for.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeAlias

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from forklore_service.errors import TextRefusedError, UnavailableError
from forklore_service.storage.clients import make_session
from forklore_service.storage.schema import DIMENSIONS

TITAN, COHERE = "amazon.titan-embed-text-v2:0", "cohere.embed-v4:0"
ASKED_AT_ONCE = 16
"""How many texts are under way at a time."""
TAKEN = "Which text does any model take?"
"""What a model is asked that has refused a text: it may refuse all, for one that is not there."""
Make: TypeAlias = Callable[[list[str]], Sequence[Sequence[float]]]


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


class _Model:
    """A model. Its client is made when it is first asked.

    client: of Bedrock's models; None: AWS's own. Threads may share it.
    """

    def __init__(self, client: Any = None) -> None:
        self._made = client
        self._making = threading.Lock()

    def ask(self, model: str, asked: Mapping[str, Any]) -> Any:
        """Return what it answers. Raises UnavailableError, which names nothing of a text."""
        with self._making:
            if self._made is None:
                self._made = make_model_client()
        try:
            answer = self._made.invoke_model(
                modelId=model,
                body=json.dumps(asked),
                contentType="application/json",
                accept="application/json",
            )
            found: Any = json.loads(answer["body"].read())
        except ClientError as error:
            code = error.response["Error"]["Code"]
            failure = TextRefusedError if code == "ValidationException" else UnavailableError
            raise failure(f"the model of recall failed: {code}") from None
        except (BotoCoreError, ValueError) as error:
            raise UnavailableError(f"the model of recall failed: {type(error).__name__}") from None
        return found

    def taken(self, texts: list[str], make: Make) -> list[Sequence[float] | None]:
        """Return the vectors that `make` makes; None of each text that the model alone refuses.

        Raises TextRefusedError if it refuses TAKEN, too: then it is not this text.
        """
        try:
            return [*make(texts)]
        except TextRefusedError:
            if len(texts) < 2:
                make([TAKEN])
                return [None]
        half = len(texts) // 2
        return [*self.taken(texts[:half], make), *self.taken(texts[half:], make)]


class Titan(_Model):
    """Returns a vector of each text, each by a request."""

    def __call__(self, texts: list[str]) -> list[Sequence[float] | None]:
        """Raises UnavailableError, which names the error's code and nothing of a text."""
        if len(texts) < 2:
            return [self._vector_of(text) for text in texts]
        with ThreadPoolExecutor(min(ASKED_AT_ONCE, len(texts))) as threads:
            return [*threads.map(self._vector_of, texts)]

    def _vector_of(self, text: str) -> Sequence[float] | None:
        [vector] = self.taken([text], self._one_by_one)
        return vector

    def _one_by_one(self, texts: list[str]) -> list[Sequence[float]]:
        asked = ({"inputText": text, "dimensions": DIMENSIONS, "normalize": True} for text in texts)
        return [_in(self.ask(TITAN, one), "embedding") for one in asked]


class Cohere(_Model):
    """Returns a vector of each of at most 96 texts, by one request."""

    def __call__(self, texts: list[str]) -> list[Sequence[float] | None]:
        """Return vectors of texts that are searched. Raises UnavailableError, as Titan does."""
        return self.taken(texts, partial(self._vectors, "search_document"))

    def of_questions(self, texts: list[str]) -> list[Sequence[float] | None]:
        """Return vectors of texts that are searched for. Raises as `__call__` does."""
        return self.taken(texts, partial(self._vectors, "search_query"))

    def _vectors(self, of: str, texts: list[str]) -> list[Sequence[float]]:
        asked = {"texts": texts, "input_type": of, "embedding_types": ["float"]}
        found = self.ask(COHERE, asked | {"output_dimension": DIMENSIONS})
        vectors: list[Sequence[float]] = _in(found, "embeddings", "float")
        return vectors


def _in(answer: Any, *names: str) -> Any:
    """Return a member of a member of an answer. Raises UnavailableError, naming nothing of it."""
    try:
        for name in names:
            answer = answer[name]
    except (LookupError, TypeError) as error:
        raise UnavailableError(f"the model of recall failed: {type(error).__name__}") from None
    return answer
