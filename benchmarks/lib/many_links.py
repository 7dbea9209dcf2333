"""Datasets with as many links as wanted: `sentences` of real slices that are copied under new titles, with a page for
each link target, and `entities` with an item for each of their titles."""

from pathlib import Path

from lib import generate, slices
from lib.measure import ROOT, job, run, wikianchor
from wikianchor.pipelines.dataset.reader import dataset_at

# Links of a MB of XML of the slices, about.
LINKS_PER_MB = 3_500


def many_sentences(work: Path, language: str, links: int = 0) -> Path:
    """Return a dataset `sentences` with about so many links, 0 for those of the slices; build it unless it exists."""
    output = work / f"sentences-{language}-{links}"
    if not (output / "manifest.json").exists():
        dump = slices.dump(work, language, links / LINKS_PER_MB, ending="xml", stubs=True, distinct=True)
        job("sentences", output, f"--dumps={dump}")
    return output


def entities(work: Path, rows: Path, dominant: float = 0) -> Path:
    """Return the dataset `entities` for the titles of a dataset; build it unless it exists.

    Args:
        work: directory of generated files.
        rows: the dataset `sentences`.
        dominant: share of the items that a single type has.
    """
    output = work / f"entities-{rows.name}-{dominant:g}"
    if (output / "manifest.json").exists():
        return output
    dataset = dataset_at(str(rows))
    pages = dataset.iterate("titles", ["title", "redirect"])
    titles = (page["title"] for page in pages if page["redirect"] is None)
    wikidata = work / f"wikidata-{rows.name}-{dominant:g}.json"
    generate.write_items(dataset.wiki, titles, wikidata, dominant)
    job("entities", output, f"--wikidata={wikidata}", f"--wikis={dataset.wiki}")
    wikidata.unlink()
    return output


def sample(work: Path) -> tuple[Path, Path]:
    """Return `sentences` and `entities` of the demo's English wiki, which measure the start of a job."""
    output = work / "sample"
    # A build skips stages that are finished.
    run(wikianchor("build", f"--dumps={ROOT / 'demo/dumps'}", "--min_links=2", f"--output={output}"))
    return output / "sentences/enwiki", output / "entities"


def build_documents(dump: Path, output: Path) -> str:
    """Make entities, sentences, documents and mentions of a dump, each in its directory; return the wiki."""
    wiki, items = dump.name.partition("-")[0], output / "wikidata.json.gz"
    rows, of_wiki = output / "sentences" / wiki, output / "entities"
    output.mkdir(parents=True, exist_ok=True)
    run(wikianchor("items", f"--dumps={dump}", f"--output={items}"))
    job("entities", of_wiki, f"--wikidata={items}", f"--wikis={wiki}")
    job("sentences", rows, f"--dumps={dump}", "--documents")
    for name in ("documents", "mentions"):
        job(name, output / name, f"--sentences={rows}", f"--entities={of_wiki}")
    return wiki
