"""Models from and for other toolkits."""
