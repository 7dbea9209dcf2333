"""`wikianchor vectors`: initial vectors of the entities of a dataset, in the order of ids.

    wikianchor vectors --data=out/pairs --vectors=enwiki.txt.bz2 --titles=out/entities --titles_wiki=enwiki \\
        --output=entity_init.safetensors
    wikianchor vectors --data=out/pairs --encode=MODEL --output=entity_init.safetensors
    wikianchor vectors --data=out/pairs --output=entity_init.safetensors

Vectors go by the title of a page, so `--titles`, the dataset `entities` of `wikianchor entities`, says which item a
title is; without it the label of the item is taken for its title. `--encode` makes vectors out of labels, with a model.
Without either, vectors of 768 dimensions are trained on the words and entities of the pairs, by skip-gram on one core.
What is written is `vectors` (entities, dim), `known` and `qids`; training draws what is not known at random.

Files of entity vectors by name: what wikipedia2vec, word2vec tools and NumPy write, read without running anything.

    *.txt *.vec *.bz2 *.gz  a line for each name. wikipedia2vec's default has a tab before the numbers and `ENTITY/`
                            before a title; word2vec's has a header of two numbers and `_` for spaces
    *.npy                   (n, dim), with the names line by line in a file of the same name and `.titles.txt`
    *.safetensors           `vectors` (n, dim), with `qids` (n,) int64, or with `.titles.txt` as above

wikipedia2vec's own binary is a pickle, and to read a pickle is to run what is in it, so it is refused. This turns
it into the second form, where the package is installed and the file is trusted. Its text form rounds to three decimals.

    import numpy as np, wikipedia2vec
    model = wikipedia2vec.Wikipedia2Vec.load("enwiki.pkl")
    entities = list(model.dictionary.entities())
    np.save("enwiki.npy", model.syn0[[entity.index for entity in entities]])
    open("enwiki.titles.txt", "w").writelines(entity.title + "\\n" for entity in entities)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import Device, Output
from wikianchor.io.options import option, program, read_options
from wikianchor.trainer.option_groups import Dataset, Titles


@dataclass(frozen=True, kw_only=True)
class EntityVectorsOptions(Titles, Device, Output, Dataset):
    """Options of the command."""

    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "output": {"metavar": "FILE", "help": "the .safetensors file to write"},
        "device": {"help": "device of that model"},
    }

    vectors: str = option("", metavar="FILE", help="a file of vectors by title")
    encode: str = option("", metavar="MODEL", help="encode the entities' labels with this model")
    dtype: str = option("float32", choices=("float16", "float32"), help="type of the numbers in the file")

    def completed(self) -> EntityVectorsOptions:
        """Check that the options go together.

        Raises:
            UsageError: they do not.
        """
        if self.vectors and self.encode:
            raise UsageError("give --vectors, --encode, or neither: then vectors are trained on the pairs")
        return self


def parse(argv: Sequence[str]) -> EntityVectorsOptions:
    """Return the options of a command line."""
    parser = program("wikianchor vectors", __doc__ or "", EntityVectorsOptions)
    return read_options(EntityVectorsOptions, parser.parse_args(argv))
