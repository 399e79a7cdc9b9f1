// The indexes of the database, including those of constraints.
// mode:    read
// params:
// returns: name :: STRING, labels :: LIST<STRING>, properties :: LIST<STRING>
// needs:   nothing
SHOW INDEXES YIELD name, labelsOrTypes, properties
RETURN name, labelsOrTypes AS labels, properties
