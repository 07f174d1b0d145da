"""The one place that opens files for others: what is read has bounds, what is written is whole."""
