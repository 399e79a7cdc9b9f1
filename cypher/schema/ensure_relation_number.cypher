// The constraint that a catalogue number stands for one relation.
// mode:    schema
// params:
// returns:
// needs:   nothing
CREATE CONSTRAINT relation_number IF NOT EXISTS FOR (r:Relation) REQUIRE r.number IS UNIQUE
