import type { Refusal } from '../query/question.ts'

/** Why a request has no answer. */
export type Failure =
  | Refusal
  | 'malformedCpid'
  | 'badLimit'
  | 'badState'
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
      'a page of another origin asked; list its origin under extensions::cpid_query::cors::allowed_origins to let it',
  },
  unknown: {
    status: 404,
    code: 'unknown_cpid',
    message:
      'no mergelog, span or log has named this CPID; check it, and whether its sender reaches Causeway',
  },
  unknownPath: {
    status: 404,
    code: 'unknown_path',
    message:
      'there is nothing at this path; ask /api/v1/cpids/<cpid>, that with /related, /ancestors, /roots, /mergelogs, ' +
      '/spans or /logs behind it, /api/v1/cascades, /api/v1/cascades/<root>, /api/v1/mergelogs, /api/v1/spans or ' +
      '/api/v1/logs',
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
