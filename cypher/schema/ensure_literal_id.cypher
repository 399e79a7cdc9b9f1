// The constraint that a literal's id is unique; every look-up by id goes through its index.
// mode:    schema
// params:
// returns:
// needs:   nothing
CREATE CONSTRAINT literal_id IF NOT EXISTS FOR (l:Literal) REQUIRE l.id IS UNIQUE
