"""The rate of a window of live traffic: a judge on every claim, people on some."""
