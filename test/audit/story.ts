import { cpid, type SpanSketch } from '../support/otlp-requests.ts'
import type { TestWriter } from '../support/test-writer.ts'

const CLUSTER = 'prod'

interface Work {
  by: string
  name: string
  cpid?: string
  at: number
  took: number
  observed?: string[]
  wrote?: string[]
  failed?: true
  /** Of a write that was seen from outside. */
  seen?: { user: string; cause: 'operator' | 'exact' | 'inferred'; gap?: true }
}

/** Tells the story of docs/audit.md to a real writer, in the order in which it would have arrived. */
export class Story {
  readonly #writer: TestWriter
  readonly #cluster: string
  #trace: number
  #elapsed = 0

  constructor(writer: TestWriter, cluster = CLUSTER, lastTrace = 0) {
    this.#writer = writer
    this.#cluster = cluster
    this.#trace = lastTrace
  }

  /** Lets the clock go on to so many milliseconds after the start. */
  until(ms: number): void {
    this.#writer.pass(ms - this.#elapsed)
    this.#elapsed = ms
  }

  merge(by: string, id: number, sources: number[], at: number, object: string, reason: string): void {
    const mergelog = { new: cpid(id), sources: sources.map(cpid), time: at, object, reason }
    this.#writer.mergelogs(by, [mergelog], this.#cluster)
  }

  work({ by, name, cpid: of, at, took, observed, wrote, failed, seen }: Work): void {
    const span: SpanSketch = {
      trace: ++this.#trace,
      id: this.#trace,
      name,
      start: at,
      end: at + took,
      attributes: {
        ...(observed && { 'cpid.observed': observed }),
        ...(wrote && { 'cpid.wrote': wrote }),
        ...(seen && { 'user.name': seen.user, 'cpid.cause': seen.cause }),
        ...(seen?.gap && { 'cpid.gap': true }),
      },
      ...(of !== undefined && { cpid: of }),
      ...(failed && { status: 2 }),
    }
    this.#writer.spans(by, [span], this.#cluster)
  }
}
