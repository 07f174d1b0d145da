"""How two runs differ, what drifted, and how many items a difference needs."""
