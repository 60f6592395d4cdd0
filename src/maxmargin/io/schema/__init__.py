"""What a model file may hold: the classes, the attributes of each, and what these must agree on."""
