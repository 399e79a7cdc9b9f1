-- Number and hash of the encoded terms of entities, in the order they were added in.
SELECT entity.node AS number, entity.hash FROM encoded_entity JOIN entity ON entity.id = encoded_entity.text ORDER BY code
