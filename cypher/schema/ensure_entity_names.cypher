// The full-text index over the names and aliases of entities; it ignores accents and case.
// mode:    schema
// params:
// returns:
// needs:   nothing
CREATE FULLTEXT INDEX entity_names IF NOT EXISTS FOR (e:Entity) ON EACH [e.search_names]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'standard-folding'}}
