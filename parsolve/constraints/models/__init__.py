"""Models: what their size depends on, how many parameters they have, and known ones by name."""
