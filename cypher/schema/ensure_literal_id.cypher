// The constraint that literal ids are unique; every look-up by id uses its index.
// mode:    schema
// params:
// returns:
// needs:   nothing
CREATE CONSTRAINT literal_id IF NOT EXISTS FOR (l:Literal) REQUIRE l.id IS UNIQUE
