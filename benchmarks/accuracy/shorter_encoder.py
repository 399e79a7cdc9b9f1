"""The first layers of an encoder as an encoder of its own, to be set beside the whole one in docs/results.md.

    python -m benchmarks.accuracy.shorter_encoder --layers 3 --out FOLDER/all-MiniLM-L6-v2-layers-1-to-3

What it writes goes wherever an encoder is named by path, as `lodestar train star --set encoder=FOLDER/…`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lodestar.models.text.encoders import SentenceEncoder


def main() -> None:
    """Write the shorter encoder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2", help="name or path (default: all-MiniLM-L6-v2)")
    parser.add_argument("--layers", type=int, required=True, help="how many of its layers, from the first")
    parser.add_argument("--out", type=Path, required=True, help="folder of the shorter encoder")
    arguments = parser.parse_args()
    from transformers import AutoModel, AutoTokenizer

    location = SentenceEncoder(arguments.encoder).location
    model = AutoModel.from_pretrained(location, use_safetensors=True, trust_remote_code=False)
    if not 0 < arguments.layers <= len(model.encoder.layer):
        parser.error(f"expected 1 to {len(model.encoder.layer)} --layers, found {arguments.layers}")
    model.encoder.layer = model.encoder.layer[: arguments.layers]
    model.config.num_hidden_layers = arguments.layers
    model.save_pretrained(arguments.out)
    AutoTokenizer.from_pretrained(location, trust_remote_code=False).save_pretrained(arguments.out)


if __name__ == "__main__":
    main()
