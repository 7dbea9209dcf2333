"""An encoder that is begun here: a BERT with random weights, and word pieces learnt from the sentences of a dataset.

For runs without a network, and to see at toy size that all of a training works. It knows nothing but what it is trained
on, so it is no match for a pretrained model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from wikianchor.trainer.data.shards import PairDataset, read_batches
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.presets import NEW_BERTS

SPECIAL = {f"{name.lower()}_token": f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP", "MASK")}
# Sentences that word pieces are learnt from; more change little.
VOCABULARY_SENTENCES = 1_000_000
MOST_TOKENS = 512


def new_encoder(
    pairs: PairDataset, size: str, vocabulary_size: int, pooler: str = "avg", dropout: float | None = None
) -> Encoder:
    """Return a BERT of a size of `NEW_BERTS`; its weights follow from torch's seed, its word pieces from the pairs.
    `dropout` replaces BERT's own probability, which is 0.1."""
    tokenizer = learn_word_pieces(islice(_sentences(pairs), VOCABULARY_SENTENCES), vocabulary_size)
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=MOST_TOKENS, **NEW_BERTS[size])
    if dropout is not None:
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout
    return Encoder(BertModel(config), tokenizer, pooler, max_length=MOST_TOKENS)


def _sentences(pairs: PairDataset) -> Iterator[str]:
    for batch in read_batches(pairs, ("text",)):
        yield from batch.column("text").to_pylist()


def learn_word_pieces(sentences: Iterable[str], size: int) -> PreTrainedTokenizerFast:
    """Return BERT's tokenizer with `size` pieces, or all letters where these are more. Words are lower-cased; accents
    stay, as they make other letters in many languages."""
    texts = list(sentences)
    learner = _tokenizer(models.WordPiece(unk_token=SPECIAL["unk_token"]))
    # Letters get their ids in the order of a hash table, and ids decide between pieces that are equally frequent. Named
    # as special ones, the letters come first and in our order.
    first = [*SPECIAL.values(), *_letters(texts, learner)]
    learner.train_from_iterator(
        texts, trainers.WordPieceTrainer(vocab_size=size, special_tokens=first, show_progress=False)
    )
    backend = _tokenizer(models.WordPiece(learner.get_vocab(), unk_token=SPECIAL["unk_token"]))
    cls, sep = ((SPECIAL[name], backend.token_to_id(SPECIAL[name])) for name in ("cls_token", "sep_token"))
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[cls, sep]
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=MOST_TOKENS, **SPECIAL)


def _tokenizer(model: models.WordPiece) -> Tokenizer:
    found = Tokenizer(model)
    found.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return found


def _letters(texts: Sequence[str], tokenizer: Tokenizer) -> list[str]:
    """Return the pieces of one letter, at the beginning of words and within them, in the order of their codes."""
    found: set[str] = set()
    for text in texts:
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text)):
            found.update((word[0], *(f"##{letter}" for letter in word[1:])))
    return sorted(found)
