"""Read the sentences that link to an entity; row groups without it are not read."""

import wikianchor

pairs = wikianchor.open_dataset("out/demo/pairs")
moon = next(qid for qid, label in pairs.labels().items() if label == "Moon")
for text in pairs.filter({"entity_qid": moon}, columns=["text"])["text"].to_pylist():
    print(text)
