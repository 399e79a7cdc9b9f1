-- The literals as neo4j-admin imports them.
SELECT node::BIGINT AS ":ID(node)", id, value, datatype, language FROM literal ORDER BY node
