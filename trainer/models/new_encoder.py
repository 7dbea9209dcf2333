"""A new encoder: a BERT with random weights, and a WordPiece vocabulary learnt from the sentences of a dataset.

For runs without a network and for small tests. Pretrained models are far better.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from wikianchor.trainer.config import STATIC, PairsConfig
from wikianchor.trainer.data.shards import PairDataset, read_texts
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.modules import NO_LIMIT
from wikianchor.trainer.models.static import new_static
from wikianchor.trainer.presets import NEW_BERTS

SPECIAL = {f"{name.lower()}_token": f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP", "MASK")}
# Sentences that the vocabulary is learnt from; more of them change it little.
VOCABULARY_SENTENCES = 1_000_000
MOST_TOKENS = 512
# Width of a new static encoder.
STATIC_WIDTH = 256


def new_encoder(pairs: PairDataset, options: PairsConfig, pooler: str = "avg") -> Encoder:
    """Return a BERT, or a static encoder, with random weights by torch's seed.

    Args:
        pairs: the sentences that the vocabulary is learnt from.
        options: `new`, `vocabulary_size` and `dropout` are used.
        pooler: the encoder's pooler.
    """
    tokenizer = learn_word_pieces(islice(read_texts(pairs), VOCABULARY_SENTENCES), options.vocabulary_size)
    if options.new == STATIC:
        return Encoder(new_static(tokenizer, STATIC_WIDTH, options.dropout), tokenizer, pooler, max_length=NO_LIMIT)
    config = BertConfig(vocab_size=len(tokenizer), max_position_embeddings=MOST_TOKENS, **NEW_BERTS[str(options.new)])
    if options.dropout is not None:
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = options.dropout
    return Encoder(BertModel(config), tokenizer, pooler, max_length=MOST_TOKENS)


def learn_word_pieces(sentences: Iterable[str], size: int) -> PreTrainedTokenizerFast:
    """Return a WordPiece tokenizer of `size` pieces, or of all characters if these are more.

    Texts are lower-cased. Accents are kept, because in many languages letters with accents are different letters.
    """
    texts = list(sentences)
    learner = _tokenizer(models.WordPiece(unk_token=SPECIAL["unk_token"]))
    # The trainer numbers characters in the order of a hash table, and these numbers decide between equally frequent
    # pieces. As special tokens the characters come first and in sorted order, so that the vocabulary is reproducible.
    first = [*SPECIAL.values(), *_characters(texts, learner)]
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
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def _characters(texts: Sequence[str], tokenizer: Tokenizer) -> list[str]:
    """Return the pieces of one character, at the beginning of words and within words, sorted."""
    pieces: set[str] = set()
    for text in texts:
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text)):
            pieces.update((word[0], *(f"##{character}" for character in word[1:])))
    return sorted(pieces)
