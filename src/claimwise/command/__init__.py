"""What commands share: options, the client of judges, progress."""
