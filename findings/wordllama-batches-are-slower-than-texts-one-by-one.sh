#!/bin/sh
# wordllama 0.4.0.post1 (PyPI): `embed` of many texts at once is slower than of each text alone.
# A batch (64 texts, if not told otherwise) becomes one array of batch x longest text x 256 numbers:
# every text is padded to the longest of its batch, the vector of each padding token is looked up,
# multiplied by 0 and added. One long text makes its 63 neighbours as expensive as itself. Texts of a
# chat are of very unequal lengths. The vectors are the same either way.
#
# Seen: 512 texts, every 32nd one of 700 words and the others of 5, by CPU time: one by one several times
# faster (five times here), with equal vectors.
# The tokenizer is read from the file in the package, so nothing is downloaded but the packages.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check wordllama==0.4.0.post1

cat >measure.py <<'PY'
import sys
import time
from pathlib import Path

import numpy as np
import wordllama
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from wordllama.config import Config
from wordllama.inference import WordLlamaInference

package = Path(wordllama.__file__).parent
weights = load_file(package / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
tokenizer = Tokenizer.from_file(str(package / "tokenizers" / "l2_supercat_tokenizer_config.json"))
model = WordLlamaInference(weights, tokenizer)
texts = [" ".join(["harbour"] * (700 if number % 32 == 0 else 5)) + f" {number}" for number in range(512)]


def measured(embed):
    begun = time.process_time()
    made = embed()
    return time.process_time() - begun, made


model.embed(texts[:1])
together_s, together = min((measured(lambda: model.embed(texts)) for _ in range(3)), key=lambda one: one[0])
alone_s, alone = min((measured(lambda: np.concatenate([model.embed([text]) for text in texts])) for _ in range(3)), key=lambda one: one[0])
print(f"together {together_s:.2f} s, one by one {alone_s:.2f} s, ratio {together_s / alone_s:.1f}")
assert np.allclose(together, alone, atol=1e-3), "the vectors differ"
sys.exit(0 if together_s > 2 * alone_s else "batches are not slower any more")
PY
venv/bin/python measure.py
