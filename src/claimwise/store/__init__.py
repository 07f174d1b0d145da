"""Keeps and returns rows; owns the schema."""

from claimwise.store.files import list_views
from claimwise.store.load import LoadCount
from claimwise.store.parts import MOST_PARTS, Part, prepare_part
from claimwise.store.postgres import hide_password
from claimwise.store.store import Store, open_store

__all__ = [
    "MOST_PARTS", "LoadCount", "Part", "Store", "hide_password", "list_views", "open_store",
    "prepare_part",
]  # fmt: skip
