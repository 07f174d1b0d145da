"""Tests in a real browser. A package, so that one browser can serve its modules and no others."""
