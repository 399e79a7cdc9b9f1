// The constraint that an entity's id is unique; every look-up by id goes through its index.
// mode:    schema
// params:
// returns:
// needs:   nothing
CREATE CONSTRAINT entity_id IF NOT EXISTS FOR (e:Entity) REQUIRE e.id IS UNIQUE
