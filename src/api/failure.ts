import type { NoAnswer } from '../query/question.ts'

/** Why a request has no answer. */
export type Failure =
  | NoAnswer
  | 'malformedCpid'
  | 'badLimit'
  | 'badState'
  | 'badTime'
  | 'badText'
  | 'badSpanId'
  | 'badTraceId'
  | 'badParameter'
  | 'noReference'
  | 'nothingToFind'
  | 'unauthenticated'
  | 'unknownHost'
  | 'crossSite'
  | 'unknownPath'
  | 'methodNotAllowed'
  | 'internal'
  | 'busy'

/** What a caller reads: the only place that knows status codes and messages of the API. */
export const FAILURES: Readonly<Record<Failure, { status: number; code: string; message: string }>> = {
  malformedCpid: {
    status: 400,
    code: 'malformed_cpid',
    message:
      'the CPID in the path is not a UUID or is all zeros; write its 32 hex digits, with or without dashes',
  },
  badLimit: { status: 400, code: 'bad_limit', message: 'limit must be a whole number from 1 to 10000' },
  badState: { status: 400, code: 'bad_state', message: 'state must be open or settled' },
  badTime: {
    status: 400,
    code: 'bad_time',
    message: 'from and to must be RFC 3339 times such as 2026-01-31T08:00:00Z; write a + as %2B',
  },
  badText: { status: 400, code: 'bad_text', message: 'a text to look for may have at most 1024 characters' },
  badSpanId: {
    status: 400,
    code: 'bad_span_id',
    message: 'the span id in the path must be 16 hex digits, as in an answer of /api/v1/cascades/<root>',
  },
  badTraceId: {
    status: 400,
    code: 'bad_trace_id',
    message: 'trace must be 32 hex digits, as in an answer of /api/v1/cascades/<root>',
  },
  badParameter: {
    status: 400,
    code: 'bad_parameter',
    message: 'a parameter is not understood; /api/v1/openapi.json lists those of each path',
  },
  noReference: {
    status: 400,
    code: 'no_reference',
    message: 'write ref=, an object such as apps/v1/deployments/default/web, the beginning of one, or a name',
  },
  nothingToFind: {
    status: 400,
    code: 'nothing_to_find',
    message: "write q=, a CPID, at least its first eight digits, or a part of an object's name",
  },
  badCursor: {
    status: 400,
    code: 'bad_cursor',
    message: 'after must be the "next" of an earlier answer from the same path',
  },
  unauthenticated: {
    status: 401,
    code: 'unauthenticated',
    message:
      'show a credential that extensions::cpid_query::auth knows, in the header that WWW-Authenticate is about',
  },
  unknownHost: {
    status: 403,
    code: 'unknown_host',
    message:
      'this server does not go by the name in the Host header; call it by its address, or list the name under ' +
      'extensions::cpid_query::allowed_hosts',
  },
  crossSite: {
    status: 403,
    code: 'cross_site',
    message:
      'a page of another origin asked, led here or would show this inside itself; list its origin under ' +
      'extensions::cpid_query::cors::allowed_origins to let it ask, and write the address into the browser to read it',
  },
  unknown: {
    status: 404,
    code: 'unknown_cpid',
    message:
      'no mergelog, span or log has named this CPID; check it, and whether its sender reaches Causeway',
  },
  unknownSpan: {
    status: 404,
    code: 'unknown_span',
    message:
      'the cascade has no span with this id; leave trace out to look in all its traces, and check the id, which was ' +
      'pruned if it was right before',
  },
  unknownTrace: {
    status: 404,
    code: 'unknown_trace',
    message: 'no trace with this id was sent out; check it, or find its cascade with /api/v1/find?q=<cpid>',
  },
  unknownPath: {
    status: 404,
    code: 'unknown_path',
    message:
      'there is nothing at this path; /api/v1/openapi.json lists the paths, such as /api/v1/cascades, ' +
      '/api/v1/cpids/<cpid>/related or /api/v1/find?q=<name>',
  },
  methodNotAllowed: { status: 405, code: 'method_not_allowed', message: 'use GET' },
  pruned: {
    status: 410,
    code: 'pruned_cpid',
    message: 'retention removed this CPID; raise connectors::cpid::retention to keep CPIDs longer',
  },
  busy: {
    status: 503,
    code: 'busy',
    message: 'too many passwords are being checked; ask again in a second',
  },
  internal: {
    status: 500,
    code: 'internal',
    message: 'the question could not be answered; see the log of Causeway, or ask again',
  },
}
