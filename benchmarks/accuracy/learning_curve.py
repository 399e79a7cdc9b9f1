"""What `lodestar train star` makes of more and more questions, from the shipped scorer and from the encoder alone.

    python -m benchmarks.accuracy.learning_curve --learn train-mined.jsonl.gz --asked dev-mined.jsonl.gz --out FOLDER

Both files are written by `lodestar mine`. The last `CHOOSE` questions to learn from, shuffled by the seed, choose the
epochs and the mix; the first of each size are learned from. A line of JSON for each training: of the first paths of the
questions asked, the share with a right answer (path any), and F1 of their ends. A size that is in ``--out`` is not
trained again.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import replace
from pathlib import Path

import torch
from lodestar.models.kinds import CheckpointOpenOptions
from lodestar.models.mined_files import MinedFile, read_mined_file
from lodestar.models.star import KIND, StarConfig
from lodestar.models.star import network as star
from lodestar.models.star import training as learning
from lodestar.models.training import TrainingFolder

CHOOSE = 100


def score(folder: Path, config: StarConfig, learn: MinedFile, asked: MinedFile, device: str) -> dict[str, float]:
    """Return the figures of the first paths of a checkpoint, all paths of a question in reach scored."""
    opening = CheckpointOpenOptions(device, torch.float32, lambda _: None)  # type: ignore[arg-type, return-value]
    model = star.open_model(folder, opening)
    assert model.reader is not None
    few, dev = learning.make_examples([learn]), learning.make_examples([asked])
    dual = learning.ListwiseDualObjective(model.network, model.tokenizer, few, dev, config.dual, config.dual_training)
    stops = [stop for _, stop in dual.iterate_stop_scores(dev)]
    network, texts = model.reader.network, model.reader.texts
    cross = learning.ContrastivePoolObjective(network, texts, few, dev, stops, config.cross, config.cross_training)
    found = learning.mix_network_scores(cross.iterate_shortlist_scores(), model.description.mix)
    return {"mix": model.description.mix, **learning.compute_first_path_figures(found)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learn", type=Path, required=True)
    parser.add_argument("--asked", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of the checkpoints")
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 200, 10**9])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--start", nargs="+", default=["encoder", "shipped"], choices=["encoder", "shipped"])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = parser.parse_args()
    learn, asked = read_mined_file(given.learn), read_mined_file(given.asked)
    for seed in given.seeds:
        questions = list(learn.questions)
        random.Random(seed).shuffle(questions)
        choose = replace(learn, questions=tuple(questions[-CHOOSE:]))
        for size in given.sizes:
            some = replace(learn, questions=tuple(questions[:-CHOOSE][:size]))
            for start in given.start:
                plain = StarConfig(pretrained=start == "shipped")
                config = replace(
                    plain,
                    dual_training=replace(plain.dual_training, seed=seed),
                    cross_training=replace(plain.cross_training, seed=seed),
                )
                folder = given.out / f"{len(some.questions)}-{seed}-{start}"
                TrainingFolder(folder, given.device).fit(KIND, config, [some], [choose])
                figures = score(folder, config, some, asked, given.device)
                what = {"learned": len(some.questions), "seed": seed, "start": start, "n": len(asked.questions)}
                print(json.dumps(what | figures), flush=True)


if __name__ == "__main__":
    main()
