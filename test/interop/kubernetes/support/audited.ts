import { readFileSync } from 'node:fs'
import type { JsonObject } from '../../../../src/kubernetes/json-access.ts'
import { readAuditEvent } from '../../../../src/kubernetes/read-audit-event.ts'
import type { AuditedRequest } from '../../../../src/model/kubernetes/observation.ts'

/** What an audit log says of accepted writes. */
export function audited(path: string): AuditedRequest[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .flatMap((line) => {
      const read = readAuditEvent(JSON.parse(line) as JsonObject)
      return typeof read === 'string' ? [] : [read]
    })
}
