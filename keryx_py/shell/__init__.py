"""What the person sees and types. Alone in printing and asking."""
