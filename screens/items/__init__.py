"""What each kind of item shows: its screen part, and the texts that it is made of."""
