"""The app in the browser: people label claims, and everyone sees what came of it."""
