"""What keeps other than key presses of a person away from the screens."""
