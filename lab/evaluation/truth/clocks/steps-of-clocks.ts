import { readFileSync } from 'node:fs'
import type { WrittenStep } from '../story.ts'
import { BY_THE_CLOCK } from './by-the-clock.ts'

interface Request {
  readonly stage: string
  readonly verb: string
  readonly userAgent?: string
  readonly requestReceivedTimestamp: string
  readonly stageTimestamp: string
  readonly objectRef?: { readonly resource: string; readonly namespace?: string }
  readonly responseStatus?: { readonly code: number }
  readonly responseObject?: {
    readonly kind: string
    readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string }
  }
}

const WRITES = new Set(['create', 'update', 'patch', 'delete'])

/** What programs wrote because time went by, as the audit log has it: steps of nobody. */
export function stepsOfClocks(auditLog: string): WrittenStep[] {
  const lines = readFileSync(auditLog, 'utf8').trim().split('\n')
  return lines.flatMap((line): WrittenStep[] => {
    if (!line.includes(BY_THE_CLOCK)) return []
    const one = JSON.parse(line) as Request
    const { stage, verb, objectRef, responseObject: made, responseStatus } = one
    const isWrite = stage === 'ResponseComplete' && WRITES.has(verb) && (responseStatus?.code ?? 500) < 300
    if (!isWrite || objectRef?.namespace === undefined || made === undefined) return []
    const { name, uid, resourceVersion } = made.metadata
    const step = { t0: Date.parse(one.requestReceivedTimestamp), t1: Date.parse(one.stageTimestamp) }
    const object = { kind: made.kind, name, uid, rv: Number(resourceVersion) }
    const desc = `${verb} ${objectRef.resource} ${name} by the clock`
    return [
      { ...step, scen: objectRef.namespace, user: 'system', desc, made: verb === 'delete' ? [] : [object] },
    ]
  })
}
