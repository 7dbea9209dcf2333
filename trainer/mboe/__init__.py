"""M-BoE: entities found in documents by a dictionary, and documents classified with them."""
