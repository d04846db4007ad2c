"""Trains the second stage of the search and writes its trees for the program.

    python train.py --rows OUT.rows --data DIR --families FILE --out ../src/rerank/trees.txt

ROWS come from the example `training_rows`; DIR holds the judged queries of the dev part (`queries.jsonl`,
`qrels.tsv`). Needs numpy and lightgbm. Prints, before it trains on everything, what cross-validation says: folds by
judged tool (a tool judged in one fold is judged in no other), and with each set of queries left out in turn.
"""

import argparse
import collections
import datetime
import hashlib
import json
import math
import zlib

import lightgbm
import numpy as np

SEED = 20261201
SETS = ["livemcp-step", "livemcp-task", "azure", "mcpbench", "mcpm-server", "toolbench", "sealtools", "metatool",
        "bfcl-live"]
PARAMETERS = dict(objective="lambdarank", learning_rate=0.07, num_leaves=15, min_data_in_leaf=60, lambda_l2=10.0,
                  feature_fraction=0.5, bagging_fraction=0.7, bagging_freq=1, lambdarank_truncation_level=12,
                  max_bin=127, seed=SEED, deterministic=True, force_row_wise=True, num_threads=1, verbose=-1)


class Judgements:
    def __init__(self, data, families):
        self.set_of, self.needs = {}, collections.defaultdict(lambda: collections.defaultdict(set))
        self.family = dict(line.rstrip("\n").split("\t")[:2] for line in open(families, encoding="utf-8") if "\t" in line)
        for line in open(f"{data}/queries.jsonl", encoding="utf-8"):
            query = json.loads(line)
            self.set_of[query["qid"]] = query["set"]
        self.fold_key = {}
        for line in open(f"{data}/qrels.tsv", encoding="utf-8"):
            qid, need, tool, _ = line.rstrip("\n").split("\t")
            key = self.family.get(tool, tool)
            self.needs[qid][key].add(("family", key) if need == "0" else ("need", need))
            self.fold_key[qid] = min(self.fold_key.get(qid, key), key)

    def met(self, qid, tool):
        server = "server::" + tool.rsplit("/", 1)[0]
        needs = self.needs[qid]
        out = set()
        for key in (self.family.get(tool, tool), server, self.family.get(server)):
            out |= needs.get(key, set())
        return out

    def score(self, qid, tools):
        want = set().union(*self.needs[qid].values())
        first = {}
        for rank, tool in enumerate(tools, 1):
            for need in self.met(qid, tool):
                first.setdefault(need, rank)
        recall = sum(rank <= 7 for rank in first.values()) / len(want)
        gain = sum(1 / math.log2(rank + 1) for rank in first.values() if rank <= 10)
        return recall, gain / sum(1 / math.log2(i + 2) for i in range(min(len(want), 10)))


def load(path, judgements):
    queries, ids, values = [], [], []
    for line in open(path, encoding="utf-8"):
        cells = line.rstrip("\n").split("\t")
        if judgements.set_of[cells[0]] in SETS:
            queries.append(cells[0]), ids.append(cells[1]), values.append(np.array(cells[2:], dtype=np.float32))
    return np.array(queries), ids, np.stack(values)


def spans(queries):
    starts = np.flatnonzero(np.r_[True, queries[1:] != queries[:-1]])
    return list(zip(starts, np.r_[starts[1:], len(queries)]))


def train(values, labels, weights, groups, rounds, parameters=PARAMETERS):
    rows = np.concatenate([np.arange(a, b) for a, b in groups])
    data = lightgbm.Dataset(values[rows], labels[rows], weight=weights[rows], group=[b - a for a, b in groups])
    return lightgbm.train(parameters, data, rounds)


def report(title, per_set):
    means = {name: np.mean(rows, axis=0) for name, rows in per_set.items() if rows}
    macro = np.mean(list(means.values()), axis=0)
    cells = "  ".join(f"{name} {means[name][0]:.3f}/{means[name][1]:.3f}" for name in SETS if name in means)
    print(f"{title}: macro recall@7 {macro[0]:.4f} ndcg@10 {macro[1]:.4f}\n   {cells}", flush=True)


def measure(judgements, queries, ids, groups, scores, per_set):
    for a, b in groups:
        order = sorted(range(a, b), key=lambda i: (-scores[i], i))
        qid = queries[a]
        per_set[judgements.set_of[qid]].append(judgements.score(qid, [ids[i] for i in order]))


def write(model, path, count, notes):
    """One tree a line: for each split feature, threshold, left, right (negative: a leaf), then the leaves."""
    with open(path, "w", encoding="utf-8") as out:
        out.write("".join(f"# {note}\n" for note in notes) + f"features {count}\n")
        for tree in model.dump_model()["tree_info"]:
            splits, leaves = [], []

            def walk(node):
                if "leaf_value" in node:
                    leaves.append(node["leaf_value"])
                    return -len(leaves)
                place = len(splits)
                splits.append(None)
                left, right = walk(node["left_child"]), walk(node["right_child"])
                splits[place] = f"{node['split_feature']}:{node['threshold']:.5g}:{left}:{right}"
                return place

            walk(tree["tree_structure"])
            out.write(" ".join(splits) + " | " + " ".join(f"{leaf:.4g}" for leaf in leaves) + "\n")


def digest(path):
    return hashlib.sha256(open(path, "rb").read()).hexdigest()


def main():
    cli = argparse.ArgumentParser()
    for name in ("--rows", "--data", "--families"):
        cli.add_argument(name, required=True)
    cli.add_argument("--out")
    cli.add_argument("--features", type=int, help="only the first so many; 44 know words only")
    cli.add_argument("--rounds", type=int, default=100)
    cli.add_argument("--folds", type=int, default=5, help="0: do not cross-validate")
    cli.add_argument("--by-set", action="store_true", help="also leave out each set in turn")
    args = cli.parse_args()
    judgements = Judgements(args.data, args.families)
    queries, ids, values = load(args.rows, judgements)
    values = values[:, :args.features]
    groups = spans(queries)
    labels, weights = np.zeros(len(ids)), np.zeros(len(ids))
    per = collections.Counter(judgements.set_of[queries[a]] for a, _ in groups)
    for a, b in groups:
        for i in range(a, b):
            labels[i] = bool(judgements.met(queries[i], ids[i]))
        # Each set weighs the same, whatever its size; long lists of needs do not weigh more than one need.
        weights[a:b] = len(groups) / len(per) / per[judgements.set_of[queries[a]]]
    base = collections.defaultdict(list)
    measure(judgements, queries, ids, groups, -np.arange(len(ids)), base)
    report("order of the first stage", base)
    held = collections.defaultdict(list)
    fold_of = {q: zlib.crc32(judgements.fold_key[q].encode()) % max(args.folds, 1) for q in set(queries)}
    for fold in range(args.folds):
        inside = [g for g in groups if fold_of[queries[g[0]]] != fold]
        outside = [g for g in groups if fold_of[queries[g[0]]] == fold]
        model = train(values, labels, weights, inside, args.rounds)
        scores = np.zeros(len(ids))
        for a, b in outside:
            scores[a:b] = model.predict(values[a:b])
        measure(judgements, queries, ids, outside, scores, held)
    if args.folds:
        report(f"{args.folds} folds by judged tool, held out", held)
    if args.by_set:
        held = collections.defaultdict(list)
        for name in SETS:
            inside = [g for g in groups if judgements.set_of[queries[g[0]]] != name]
            outside = [g for g in groups if judgements.set_of[queries[g[0]]] == name]
            model = train(values, labels, weights, inside, args.rounds)
            scores = np.zeros(len(ids))
            for a, b in outside:
                scores[a:b] = model.predict(values[a:b])
            measure(judgements, queries, ids, outside, scores, held)
        report("each set left out in turn", held)
    model = train(values, labels, weights, groups, args.rounds)
    own = collections.defaultdict(list)
    measure(judgements, queries, ids, groups, model.predict(values), own)
    report("trained on all, scored on the same", own)
    gains = model.feature_importance("gain")
    print("gain:", " ".join(f"{i}:{gains[i] / gains.sum():.3f}" for i in np.argsort(-gains)[:24]))
    if args.out:
        notes = ["Decision trees of the second stage; made by train/train.py, do not edit.",
                 f"seed {SEED}, rounds {args.rounds}, date {datetime.date.today()}, lightgbm {lightgbm.__version__}",
                 f"queries.jsonl sha256 {digest(args.data + '/queries.jsonl')}",
                 f"qrels.tsv sha256 {digest(args.data + '/qrels.tsv')}",
                 f"families.tsv sha256 {digest(args.families)}"]
        write(model, args.out, values.shape[1], notes)


if __name__ == "__main__":
    main()
