// The constraint that each relation is in the catalogue once.
// mode:    schema
// params:
// returns:
// needs:   nothing
CREATE CONSTRAINT relation_name IF NOT EXISTS FOR (r:Relation) REQUIRE r.name IS UNIQUE
