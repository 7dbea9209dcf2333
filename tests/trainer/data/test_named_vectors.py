"""Vectors by title and by item, put into the rows of a table."""

import numpy as np
import pytest

from wikianchor.io.errors import InputError
from wikianchor.trainer.data.named_vectors import fill, rows_by_name


def test_the_first_vector_of_a_row_counts() -> None:
    rows = rows_by_name([7, 5, 6], [("Oslo", 5), (None, 6), ("Christiania", 5), ("Elsewhere", 9)])
    named = [("Christiania", np.array([1.0, 2.0])), ("Oslo", np.array([3.0, 4.0])), (7, np.array([5.0, 6.0]))]
    vectors, known = fill(named, rows, 3, "float32")
    assert vectors.tolist() == [[5, 6], [1, 2], [0, 0]]
    assert (vectors.dtype, known.tolist()) == (np.float32, [True, True, False])


def test_vectors_that_cannot_be_put_into_one_table() -> None:
    rows = rows_by_name([7, 5], [])
    with pytest.raises(InputError, match="vectors of widths 2 and 3"):
        fill([(7, np.zeros(2)), (5, np.zeros(3))], rows, 2, "float32")
    with pytest.raises(InputError, match="none of the vectors is of an entity of the data"):
        fill([("Oslo", np.zeros(2))], rows, 2, "float32")
