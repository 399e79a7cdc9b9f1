// Find which of some entities fit the filters of their question. A condition is a catalogue number that the entity's
// signature must have in either direction, or, with a value, one of some relations that leads from it to this value: a
// name, a literal or an id in lower case, with spaces; a number however it is written.
// mode:    read
// params:  $asked :: LIST<MAP>
// returns: question :: INTEGER, ids :: LIST<STRING>
// needs:   constraint entity_id
UNWIND range(0, size($asked) - 1) AS question
WITH question, $asked[question] AS asked
UNWIND asked.ids AS id
MATCH (e:Entity {id: id})
WHERE all(c IN asked.conditions
          WHERE CASE
                  WHEN c.value IS NULL THEN c.number IN e.signature_relations OR -c.number IN e.signature_relations
                  ELSE EXISTS {
                    MATCH (e)-[r]->(t:Entity|Literal)
                    WHERE CASE type(r) WHEN 'RELATED' THEN coalesce(r.relation, 'RELATED') ELSE type(r) END IN c.relations
                      AND (replace(toLower(coalesce(t.name, t.value, t.id)), '_', ' ') = c.value
                           OR toFloatOrNull(t.value) = toFloatOrNull(c.value))
                  }
                END)
RETURN question, collect(e.id) AS ids
