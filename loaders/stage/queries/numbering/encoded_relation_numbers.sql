-- Number and hash of the encoded terms of relations, in the order they were added in.
SELECT relation.number, relation.hash FROM encoded_relation JOIN relation ON relation.name = encoded_relation.text ORDER BY code
