import type { Cpid } from '../../model/merge-graph.ts'
import { cascadeJson, compareJson, type ReadableCascade } from '../cascade-json.ts'
import type { NoAnswer, Question } from '../question.ts'
import { touchedObjectsJson } from '../touched-objects-json.ts'
import { ArchiveSilent } from './archive-client.ts'
import type { ArchiveQuestions } from './archive-questions.ts'
import { type AskingParts, type FleetAnswer, partialOf } from './asking-parts.ts'
import { readCascade, archivedTraces } from './archived-cascade.ts'

/** How long the archive may take to say what this Causeway's own answer lacks, in milliseconds. */
const NOTE_MS = 2_000
/** How long the archive is not queried again for that after it did not answer, in milliseconds. */
const SILENT_MS = 30_000

/** Questions that no archive answers: it does not keep spans as they were sent. */
type SpansAsSent = 'span' | 'matchingSpans'
type CascadeQuestion = Question & { readonly kind: 'cascade' | 'touchedObjects' | 'compare' | SpansAsSent }

/** This database has to answer; `partial` says what its answer lacks. */
interface Here extends FleetAnswer {
  readonly kind: 'here'
}

interface FoundCascade extends ReadableCascade, FleetAnswer {}

/** Answers questions about single cascades: from this database if it has the cascade, otherwise from the archive. Throws ArchiveSilent. */
export class HeldQuestions {
  readonly #parts: AskingParts
  readonly #questions: ArchiveQuestions
  #silence: { readonly untilMs: number; readonly partial: string } | undefined

  constructor(parts: AskingParts, questions: ArchiveQuestions) {
    this.#parts = parts
    this.#questions = questions
  }

  async answer(
    question: CascadeQuestion,
  ): Promise<{ kind: 'found'; text: string } | { kind: NoAnswer } | Here> {
    const roots = question.kind === 'compare' ? [question.a, question.b] : [question.root]
    const held = roots.filter((root) => this.#isHere(root))
    if (held.length === roots.length) return await this.#here(roots)
    if (question.kind === 'span' || question.kind === 'matchingSpans') {
      const { archive } = this.#parts
      const archived = await archivedTraces(archive, question.root, archive.deadline())
      return archived.length > 0 ? { kind: 'archived' } : { kind: 'here' }
    }
    const [one, other] = await Promise.all(roots.map((root) => this.cascade(root)))
    if (one === undefined || typeof one === 'string') return { kind: one ?? 'unknown' }
    if (typeof other === 'string') return { kind: other }
    const { partial } = partialOf(one.partial, other?.partial === one.partial ? undefined : other?.partial)
    return { kind: 'found', text: noted(piecesOf(question, one, other ?? one), partial) }
  }

  /** A cascade from this database, or else from the archive. */
  async cascade(root: Cpid): Promise<FoundCascade | 'unknown' | 'pruned'> {
    const { archive, queries } = this.#parts
    const facts = queries?.cascade(root) ?? 'unknown'
    if (queries !== undefined && typeof facts !== 'string') {
      const { partial } = await this.#here([root])
      return { facts, queries, ...partialOf(partial) }
    }
    const archived = await readCascade(archive, root, archive.deadline())
    if (archived === undefined) {
      // A CPID that was pruned here may have begun no cascade, and still be in the archive.
      const known = facts === 'pruned' ? await this.#questions.cpids.facts(root) : facts
      return typeof known === 'string' ? known : 'unknown'
    }
    return { facts: archived.facts, queries: archived, partial: archived.partial }
  }

  /** Spans and log records as they were received, which only this database has: those of all CPIDs, or those related to one. */
  async received(cpid: Cpid | undefined, partial: string): Promise<Here | { kind: NoAnswer }> {
    const here = cpid === undefined ? undefined : this.#parts.queries?.related(cpid)
    if (cpid === undefined || (here !== undefined && typeof here !== 'string'))
      return { kind: 'here', partial }
    const known = await this.#questions.cpids.facts(cpid)
    return { kind: typeof known === 'string' ? known : 'archived' }
  }

  #isHere(root: Cpid): boolean {
    const facts = this.#parts.queries?.cascade(root)
    return facts !== undefined && typeof facts !== 'string'
  }

  /** Names what this database lacks of these cascades: parts that other Causeways archived, and parts that retention has pruned here. */
  async #here(roots: readonly Cpid[]): Promise<Here> {
    const { archive, queries, nowMs } = this.#parts
    if (this.#silence !== undefined && nowMs() < this.#silence.untilMs)
      return { kind: 'here', partial: this.#silence.partial }
    const deadline = archive.deadline(NOTE_MS)
    try {
      const own = (await this.#questions.own(deadline))?.causeway
      const lacking = new Map<string, Set<string>>()
      for (const root of roots) {
        const here = new Set(queries?.tracesOf(root).map(({ traceId }) => traceId.toString('hex')))
        for (const { causeway, trace } of await archivedTraces(archive, root, deadline)) {
          if (causeway === own && here.has(trace)) continue
          const of = causeway === own ? 'this Causeway, before retention removed it' : causeway
          lacking.set(of, (lacking.get(of) ?? new Set()).add(trace))
        }
      }
      const others = [...lacking].map(([of, traces]) => `${of} (trace ${[...traces].join(', ')})`)
      if (others.length === 0) return { kind: 'here' }
      const partial = `not in this answer is what others archived of it: ${others.join('; ')}. Ask that Causeway, or the backend for the trace`
      return { kind: 'here', partial }
    } catch (error) {
      if (!(error instanceof ArchiveSilent)) throw error
      const partial = `this answer has only what this Causeway stores: the archive at ${error.message}`
      this.#silence = { untilMs: nowMs() + SILENT_MS, partial }
      return { kind: 'here', partial }
    }
  }
}

function piecesOf(
  question: Exclude<CascadeQuestion, { kind: SpansAsSent }>,
  one: ReadableCascade,
  other: ReadableCascade,
): Iterable<string> {
  switch (question.kind) {
    case 'cascade':
      return cascadeJson(one.queries, one.facts)
    case 'touchedObjects':
      return touchedObjectsJson(one.queries, one.facts, question.limit)
    case 'compare':
      return compareJson(one, other)
  }
}

/** Joins the pieces of a JSON object, and appends the field `partial`. */
export function noted(pieces: Iterable<string>, partial: string | undefined): string {
  const text = [...pieces].join('')
  return partial === undefined ? text : `${text.slice(0, -1)},"partial":${JSON.stringify(partial)}}`
}
