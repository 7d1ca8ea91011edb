"""What the commands do; each module is imported when its command runs."""
