"""From links to pairs in NumPy: titles to items, items to dense ids and types, links to rows with hard negatives. No
Beam."""
