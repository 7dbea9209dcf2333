"""The dataset `linking`: mentions of items with their contexts and candidates, and the knowledge base."""
