"""Watches live traffic: points by day and week, alarms that keep their promise, runbooks."""
