"""Readers of traces: what observability tools record of an answer, its question and evidence.

Every tool's file becomes spans (:mod:`spans`), whatever it calls them; the spans of one trace
become answers (:mod:`answers`) by the same rules for all. What is found is taken as text: nothing
in it is executed, followed or fetched.
"""
