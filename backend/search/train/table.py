"""Makes the table of word meanings, `src/meaning/table.bin`.

    python table.py --words words.json --vectors words.npy --out ../src/meaning/table.bin

`words.json` has `words` (the whole words of the teacher's vocabulary, and the words that at least two tools of the
corpus use) and `df` (in how many tools each stands); `words.npy` has the teacher's vector of each word on its own. The
teacher is all-MiniLM-L6-v2 (Apache-2.0), run on single words and never on a query. Vectors are centred, reduced by
singular value decomposition, made one long, weighted by rarity, and kept in a byte a number. Needs numpy.
"""

import argparse
import json

import numpy as np

WIDTH = 96
TOOLS = 16206
GRAMMAR = set("a an the and or but of to in on at by for from with is are was were be been i me my we us our you your he "
              "she it its they them this that these those what which who how when where why if then than so can could "
              "would should will may please".split())


def word_hash(text):
    """As `family::hash` of the program."""
    mask = (1 << 64) - 1
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = ((state ^ byte) * 0x100000001B3) & mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


def main():
    cli = argparse.ArgumentParser()
    for name in ("--words", "--vectors", "--out"):
        cli.add_argument(name, required=True)
    args = cli.parse_args()
    known = json.load(open(args.words, encoding="utf-8"))
    vectors = np.load(args.vectors).astype(np.float32)
    vectors -= vectors.mean(0)
    _, _, axes = np.linalg.svd(vectors[:12000], full_matrices=False)
    rows = vectors @ axes[:WIDTH].T
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9
    rarity = np.log(1 + TOOLS / (np.array([known["df"][word] for word in known["words"]], np.float32) + 3))
    rows *= np.minimum(rarity, 7.5)[:, None]
    keep = [i for i, word in enumerate(known["words"]) if word not in GRAMMAR]
    rows = rows[keep]
    hashes = np.array([word_hash(known["words"][i]) for i in keep], dtype="<u8")
    scales = (np.abs(rows).max(axis=1) / 127).astype("<f4")
    with open(args.out, "wb") as out:
        out.write(np.array([WIDTH, len(keep)], dtype="<u4").tobytes() + hashes.tobytes() + scales.tobytes())
        out.write(np.round(rows / scales[:, None]).astype(np.int8).tobytes())


if __name__ == "__main__":
    main()
