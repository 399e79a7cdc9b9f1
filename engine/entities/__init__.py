"""The entity index: vectors of the names of entities with what they are, for mentions that no name agrees with."""
