/** How many records of the same time and digest are compared with one: more are a sender's that means harm. */
const COMPARED = 16

const LINKED = '(SELECT linked_arrival FROM progress WHERE only = 1)'

/** True of a span `s` whose ids a span stored before it has, in the same original trace. */
export const SPAN_REPEATED =
  'EXISTS (SELECT 1 FROM spans f WHERE f.origin = s.origin AND f.span_id = s.span_id AND f.id < s.id)'

/** True of a log record `l` whose bytes and scope a log record stored before it has. */
export const LOG_REPEATED = `l.digest IS NOT NULL AND EXISTS (SELECT 1 FROM
   (SELECT f.scope, f.raw FROM logs f WHERE f.time_ns = l.time_ns AND f.digest = l.digest AND f.id < l.id LIMIT ${COMPARED}) e
   WHERE e.scope = l.scope AND e.raw = l.raw)`

/** What was sent again is removed when it is linked; until then questions leave it out. */
export const SPAN_ONCE = `(s.id <= ${LINKED} OR NOT ${SPAN_REPEATED})`
export const LOG_ONCE = `(l.id <= ${LINKED} OR NOT (${LOG_REPEATED}))`
