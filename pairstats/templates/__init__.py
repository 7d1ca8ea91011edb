"""The report's notebook, page and style, and the pieces that its cells show."""
