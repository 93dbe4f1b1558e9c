"""What a turn does: ask the model, judge and run its calls, until it makes none."""
