// What a source says of relations that stand in its triples as entities: names, and the values of what is called a comment or
// a description.
// mode:    read
// params:  $per_relation :: INTEGER
// returns: relation :: STRING, name :: STRING, aliases :: LIST<STRING>, comments :: LIST<STRING>
// needs:   constraint entity_id
MATCH (r:Relation)
WHERE r.number IS NOT NULL
MATCH (e:Entity {id: r.name})
WHERE e.name IS NOT NULL
RETURN r.name AS relation,
       e.name AS name,
       coalesce(e.aliases, [])[..$per_relation] AS aliases,
       [(e)-[t]->(l:Literal)
        WHERE toLower(coalesce(t.relation, type(t))) ENDS WITH 'comment'
           OR toLower(coalesce(t.relation, type(t))) ENDS WITH 'description' | left(l.value, 500)][..1] AS comments
