import { openApiDocument } from './openapi/document.ts'

/** What the dashboard is told about this Causeway. */
export interface About {
  readonly version: string
  /** Where a trace can be seen, with {trace_id} and {span_id} to be filled in. */
  readonly traceUrl: string | undefined
}

/** Answers that need no database; undefined for every other path. */
export function fixedAnswer(target: string, { version, traceUrl }: About): string | undefined {
  const path = URL.parse(target, 'http://causeway')?.pathname
  if (path === '/api/v1/dashboard') return JSON.stringify({ traceUrl: traceUrl ?? null, version })
  if (path === '/api/v1/openapi.json') return JSON.stringify(openApiDocument(version))
  return undefined
}
