"""The verbs on a panel, by topic: each answers one kind of question with one tidy row an answer."""
