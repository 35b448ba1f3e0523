"""PURE. What source text defines, fingerprints of it, and the verdict that follows from them."""
