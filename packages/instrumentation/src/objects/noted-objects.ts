import { trace, type Span } from '@opentelemetry/api'
import type { CPID_OBSERVED, CPID_WROTE } from '../attributes.ts'

/** The most references on one span. */
export const MAX_NOTED = 128

type NotedAttribute = typeof CPID_OBSERVED | typeof CPID_WROTE
type Notes = Partial<Record<NotedAttribute, Set<string>>>

/** The noted references of each span, since its attributes cannot be read back. */
const notesOf = new WeakMap<Span, Notes>()

/** Adds references to a string-array attribute of the active span, each once. Without a recording span, `references` is not called. */
export function noteObjects(attribute: NotedAttribute, references: () => (string | undefined)[]): void {
  const span = trace.getActiveSpan()
  if (span === undefined || !span.isRecording()) return
  const notes = notesOf.get(span) ?? {}
  const noted = (notes[attribute] ??= new Set())
  notesOf.set(span, notes)
  const before = noted.size
  if (before >= MAX_NOTED) return
  for (const reference of references()) {
    if (reference !== undefined && noted.size < MAX_NOTED) noted.add(reference)
  }
  if (noted.size > before) span.setAttribute(attribute, [...noted])
}
