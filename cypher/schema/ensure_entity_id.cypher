// The constraint that entity ids are unique; every look-up by id uses its index.
// mode:    schema
// params:
// returns:
// needs:   nothing
CREATE CONSTRAINT entity_id IF NOT EXISTS FOR (e:Entity) REQUIRE e.id IS UNIQUE
