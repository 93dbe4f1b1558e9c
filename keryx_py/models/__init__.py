"""Who answers: one protocol, and one module for each kind of model."""
