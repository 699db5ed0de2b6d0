"""Many GPUs: their reports gathered from files or from workers, for one verdict."""
