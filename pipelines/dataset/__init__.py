"""Our Parquet datasets in pure Python: writing, reading, manifests. No Beam."""
