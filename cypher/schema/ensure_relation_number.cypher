// The constraint that catalogue numbers are unique.
// mode:    schema
// params:
// returns:
// needs:   nothing
CREATE CONSTRAINT relation_number IF NOT EXISTS FOR (r:Relation) REQUIRE r.number IS UNIQUE
