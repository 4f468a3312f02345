import type { HrTime } from '@opentelemetry/api'
import type { Recorder } from '../../../packages/control-plane/telemetry/recorder.ts'
import { CPID_ID, CPID_NEW, CPID_SOURCES, MERGELOG_EVENT } from '../../../src/model/attributes.ts'
import { REPLACEMENT_EVENT } from './replacing.ts'

/** What the components of a run told, as far as a method needs it. */
export interface Told {
  /** The changes that began, in that order. */
  roots: readonly string[]
  spans: readonly ToldSpan[]
  merges: readonly { cpid: string; sources: readonly string[] }[]
  replacements: readonly Replacement[]
}

export interface ToldSpan {
  id: string
  name: string
  cpid: string
  endMs: number
}

export interface Replacement {
  old: string
  kept: string
  atMs: number
}

export function reportedIn({ spans, records }: Recorder): Told {
  const roots: string[] = []
  const merges: { cpid: string; sources: string[] }[] = []
  const replacements: Replacement[] = []
  for (const { eventName, attributes, hrTime } of records) {
    if (eventName === REPLACEMENT_EVENT) {
      const old = attributes['cpid.old'] as string
      replacements.push({ old, kept: attributes[CPID_NEW] as string, atMs: msOf(hrTime) })
    } else if (eventName === MERGELOG_EVENT) {
      const cpid = attributes[CPID_NEW] as string
      const sources = attributes[CPID_SOURCES] as string[]
      if (sources.length === 0) roots.push(cpid)
      else merges.push({ cpid, sources })
    }
  }
  const told: ToldSpan[] = []
  for (const span of spans) {
    const cpid = span.attributes[CPID_ID]
    if (typeof cpid !== 'string') continue
    told.push({ id: span.spanContext().spanId, name: span.name, cpid, endMs: msOf(span.endTime) })
  }
  return { roots, spans: told, merges, replacements }
}

function msOf([seconds, nanoseconds]: HrTime): number {
  return seconds * 1000 + nanoseconds / 1e6
}
