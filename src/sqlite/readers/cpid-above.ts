import { SPAN_JOINS_OWN, SPAN_MALFORMED_CPID, SPAN_NAMES_REQUEST } from '../../model/arrivals.ts'

/** How many ancestors are looked at: a sender may make a chain of any length, and each span in it is asked about. */
const MOST_ABOVE = 32
/** The linker alone knows whether such a span takes the CPID of its parent. */
const UNSURE = SPAN_JOINS_OWN | SPAN_NAMES_REQUEST

/** Whether there are spans that the linker has not been through yet, or that wait. */
const IS_ANY_UNPLACED =
  '(SELECT last_arrival > linked_arrival FROM progress) OR EXISTS (SELECT 1 FROM waiting)'

/**
 * The CPID that a span `s` without one is about to take: that of its nearest ancestor that has one. Where nothing waits it has
 * taken it already.
 */
export const CPID_ABOVE = `CASE WHEN s.flags & ${UNSURE | SPAN_MALFORMED_CPID} = 0 AND (${IS_ANY_UNPLACED}) THEN (
  WITH RECURSIVE above(cpid, parent_id, height) AS (
    VALUES (NULL, s.parent_id, 0)
    UNION ALL
    SELECT p.cpid, p.parent_id, above.height + 1 FROM above CROSS JOIN spans p
      ON p.id = (SELECT min(f.id) FROM spans f WHERE f.origin = s.origin AND f.span_id = above.parent_id)
      WHERE above.cpid IS NULL AND above.parent_id <> 0 AND above.height < ${MOST_ABOVE}
        AND (p.cpid IS NOT NULL OR p.flags & ${UNSURE} = 0))
  SELECT above.cpid FROM above WHERE above.cpid IS NOT NULL) END`
