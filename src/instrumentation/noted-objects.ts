import { trace, type Span } from '@opentelemetry/api'
import type { CPID_OBSERVED, CPID_WROTE } from '../model/attributes.ts'

/** A span of more would be mostly this list. */
const MOST_REFERENCES = 128

type NotedAttribute = typeof CPID_OBSERVED | typeof CPID_WROTE
type Notes = Partial<Record<NotedAttribute, Set<string>>>

/** The attributes of a span cannot be read back. */
const notesOf = new WeakMap<Span, Notes>()

/** Adds object references to a string-array attribute of the active span, each once, as many as 128. */
export function noteObjects(attribute: NotedAttribute, references: readonly string[]): void {
  const span = trace.getActiveSpan()
  if (span === undefined || references.length === 0 || !span.isRecording()) return
  const notes = notesOf.get(span) ?? {}
  const noted = (notes[attribute] ??= new Set())
  notesOf.set(span, notes)
  const before = noted.size
  for (const reference of references) if (noted.size < MOST_REFERENCES) noted.add(reference)
  if (noted.size > before) span.setAttribute(attribute, [...noted])
}
