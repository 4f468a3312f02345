import { isObject, textIn, type Json } from '../../kubernetes/json-access.ts'
import { readAuditEvent } from '../../kubernetes/read-audit-event.ts'
import { errorText } from '../../model/error-text.ts'
import { isOutOfMemory } from '../../model/set-aside.ts'
import type { CustomReference } from '../../model/kubernetes/custom-reference.ts'
import type { AuditedRequest, Skipped } from '../../model/kubernetes/observation.ts'

/** What is read of several audit events. */
export class AuditEvents {
  readonly observations: AuditedRequest[] = []
  readonly skipped: Partial<Record<Skipped, number>> = {}
  unreadable = 0
  /** Why the first one that cannot be read cannot be. */
  reason = ''
  readonly #references: readonly CustomReference[]

  /** `references`: what has to be read of custom resources beside what all objects have. */
  constructor(references: readonly CustomReference[]) {
    this.#references = references
  }

  /** Reads an event as it stands in a line of a log. */
  addLine(line: string): void {
    try {
      this.add(JSON.parse(line) as Json)
    } catch (error) {
      this.cannotRead(errorText(error))
    }
  }

  /** Reads one event; what is not needed of it is dropped here. */
  add(event: Json): void {
    if (!isObject(event)) {
      this.cannotRead('it is no JSON object')
      return
    }
    if (textIn(event, 'stage') === '') {
      this.cannotRead('it is no event of an audit log')
      return
    }
    try {
      const read = readAuditEvent(event, this.#references)
      if (typeof read === 'string') this.skipped[read] = (this.skipped[read] ?? 0) + 1
      else this.observations.push(read)
    } catch (error) {
      if (isOutOfMemory(error)) throw error
      this.cannotRead(errorText(error))
    }
  }

  cannotRead(reason: string): void {
    this.unreadable++
    this.reason ||= reason
  }
}
