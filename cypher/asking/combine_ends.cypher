// Combine the ends of several relation paths: intersect or unite them, without the ends of negated paths, and give each
// end the value that orders or filters it. A set is {topic, steps, negated, only}: at most four steps, {relation, type,
// inverse} each, are walked from the topic, with at most $max_ends triples of one kind at each entity; `only` lists the
// ends that count of a path that meets another one, null for all. A path does not lead back to its topic; a negated one
// excludes the topic as well. $value_steps, at most four, lead from an end to its typed values: a number, or the first and
// last day of a date, as year · 10000 + month · 100 + day; with $by_count the value is their number. Where there are
// dates, a whole number that may be a year is one. Of several values
// the greatest counts, the smallest if $order is 'least'. $least and $most bound numbers, $first and $last dates; null is
// unbounded, and a bound itself is excluded unless its $with is true. All ends are counted; the first $limit are
// returned, by $order.
// mode:    read
// params:  $sets :: LIST<MAP>, $any_of :: BOOLEAN, $excluded :: LIST<STRING>, $value_steps :: LIST<MAP>,
//          $by_count :: BOOLEAN, $order :: STRING, $least :: FLOAT, $with_least :: BOOLEAN, $most :: FLOAT,
//          $with_most :: BOOLEAN, $first :: FLOAT, $last :: FLOAT, $max_ends :: INTEGER, $limit :: INTEGER
// returns: total :: INTEGER, ends :: LIST<LIST<ANY>>
// needs:   constraint entity_id
UNWIND range(0, size($sets) - 1) AS place
WITH place, $sets[place] AS set
MATCH (topic:Entity {id: set.topic})
WITH place, set, topic, set.steps AS steps, topic AS e
CALL (steps, e) {
  WITH steps, 0 AS at, e
  CALL (steps, at, e) {
    {{> take_step}}
  }
  RETURN t
}
WITH DISTINCT place, set, topic, steps, t AS e
CALL (steps, e) {
  WITH steps, 1 AS at, e
  CALL (steps, at, e) {
    {{> take_step}}
  }
  RETURN t
}
WITH DISTINCT place, set, topic, steps, t AS e
CALL (steps, e) {
  WITH steps, 2 AS at, e
  CALL (steps, at, e) {
    {{> take_step}}
  }
  RETURN t
}
WITH DISTINCT place, set, topic, steps, t AS e
CALL (steps, e) {
  WITH steps, 3 AS at, e
  CALL (steps, at, e) {
    {{> take_step}}
  }
  RETURN t
}
WITH DISTINCT place, set, topic, steps, t AS e
WHERE e <> topic AND (e:Literal OR e.name IS NOT NULL) AND (set.only IS NULL OR e.id IN set.only)
WITH e, collect(DISTINCT place) AS places
WHERE CASE WHEN $any_of THEN true
      ELSE all(place IN range(0, size($sets) - 1) WHERE $sets[place].negated <> (place IN places)) END
  AND NOT e.id IN $excluded AND none(set IN $sets WHERE set.negated AND set.topic = e.id)
WITH e AS found
CALL (found) {
  WITH $value_steps AS steps, found AS e
  CALL (steps, e) {
    WITH steps, 0 AS at, e
    CALL (steps, at, e) {
      {{> take_step}}
    }
    RETURN t
  }
  WITH DISTINCT steps, t AS e
  CALL (steps, e) {
    WITH steps, 1 AS at, e
    CALL (steps, at, e) {
      {{> take_step}}
    }
    RETURN t
  }
  WITH DISTINCT steps, t AS e
  CALL (steps, e) {
    WITH steps, 2 AS at, e
    CALL (steps, at, e) {
      {{> take_step}}
    }
    RETURN t
  }
  WITH DISTINCT steps, t AS e
  CALL (steps, e) {
    WITH steps, 3 AS at, e
    CALL (steps, at, e) {
      {{> take_step}}
    }
    RETURN t
  }
  WITH DISTINCT steps, t AS e
  RETURN collect(DISTINCT [e.number, e.first_day, e.last_day]) AS values, count(DISTINCT e) AS size
}
WITH collect([found, CASE WHEN $by_count THEN [[toFloat(size), null, null]] ELSE values END]) AS rows
WITH rows, any(row IN rows WHERE any(value IN row[1] WHERE value[0] IS NULL AND value[1] IS NOT NULL)) AS dated
UNWIND rows AS row
WITH dated, row[0] AS found, [value IN row[1] WHERE coalesce(value[0], value[1]) IS NOT NULL AND CASE
  WHEN $least IS NULL AND $most IS NULL AND $first IS NULL AND $last IS NULL THEN true
  WHEN value[1] IS NOT NULL AND (dated OR value[0] IS NULL) THEN NOT ($first IS NULL AND $last IS NULL)
    AND ($first IS NULL OR value[1] > $first OR ($with_least AND value[1] = $first))
    AND ($last IS NULL OR value[2] < $last OR ($with_most AND value[2] = $last))
  ELSE NOT ($least IS NULL AND $most IS NULL)
    AND ($least IS NULL OR value[0] > $least OR ($with_least AND value[0] = $least))
    AND ($most IS NULL OR value[0] < $most OR ($with_most AND value[0] = $most)) END |
  CASE WHEN value[1] IS NOT NULL AND (dated OR value[0] IS NULL) THEN toFloat(value[1]) ELSE value[0] END] AS kept
WHERE size($value_steps) = 0 OR size(kept) > 0
WITH found, CASE WHEN size($value_steps) = 0 THEN null WHEN $order = 'least'
  THEN reduce(best = kept[0], number IN kept | CASE WHEN number < best THEN number ELSE best END)
  ELSE reduce(best = kept[0], number IN kept | CASE WHEN number > best THEN number ELSE best END) END AS key
ORDER BY CASE WHEN $order = 'least' THEN key ELSE -key END, coalesce(found.name, found.value), found.id
WITH collect([found.id, coalesce(found.name, found.value), found:Literal, key]) AS ends
RETURN size(ends) AS total, ends[..$limit] AS ends
