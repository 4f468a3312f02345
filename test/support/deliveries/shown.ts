import { expect } from '@jest/globals'
import { type Cpid, parseCpid } from '../../../src/model/merge-graph.ts'
import type { SqliteQueries } from '../../../src/store/sqlite/queries.ts'
import type { TestWriter } from '../test-writer.ts'
import type { DrawnMergelog, DrawnSpan } from './drawn-cascade.ts'
import { Known } from './expected-places.ts'

/** Looks whether what has been acknowledged is in the next answer. */
export class Shown {
  readonly #queries: SqliteQueries
  /** CPIDs of one root whose change has its place there. */
  #entered = new Set<string>()

  constructor(writer: TestWriter) {
    this.#queries = writer.queries()
  }

  expectShown(spans: readonly DrawnSpan[], mergelogs: readonly DrawnMergelog[], isLinked: boolean): void {
    const known = new Known(spans, mergelogs)
    const cpids = new Set([...known.mergelogs.keys(), ...spans.flatMap(({ carries }) => carries ?? [])])
    if (isLinked) this.#entered = new Set([...cpids].filter((cpid) => isOfOneRoot(known, cpid)))
    for (const cpid of cpids) {
      const related = spans.filter((span) => known.isOf(span, cpid))
      expect({ cpid, spans: this.#spansOf(cpid) }).toEqual({ cpid, spans: rowsOf(related) })
    }
    // What went without a CPID follows a latecomer only once that is sent.
    if (spans.some(({ delay }) => delay === 'double')) return
    for (const cpid of this.#entered) {
      const mine = rowsOf(spans.filter((span) => known.cpidOf(span) === cpid))
      const [root = cpid] = known.rootsOf(cpid)
      const inCascade = this.#inCascade(root)
      expect({ cpid, missing: mine.filter((id) => !inCascade.has(id)) }).toEqual({ cpid, missing: [] })
    }
  }

  #spansOf(cpid: string): string[] {
    const pages = this.#queries.spansOf(parsed(cpid), undefined)
    if (typeof pages === 'string') return []
    // A span's id is its second field, whose bytes begin after the trace id's.
    const found = [...pages].flat().map(({ raw }) => BigInt(`0x${raw.subarray(20, 28).toString('hex')}`))
    return found.map(String).sort()
  }

  #inCascade(root: string): Set<string> {
    const traces = this.#queries.tracesOf(parsed(root))
    return new Set(
      traces.flatMap(({ id }) => this.#queries.linkedSpans(id).map(({ spanId }) => String(spanId))),
    )
  }
}

function isOfOneRoot(known: Known, cpid: string): boolean {
  return (
    known.rootsOf(cpid).size === 1 && [...known.ancestorsOf(cpid)].every((one) => known.mergelogs.has(one))
  )
}

const rowsOf = (spans: readonly DrawnSpan[]): string[] => spans.map(({ id }) => String(id)).sort()

function parsed(text: string): Cpid {
  const cpid = parseCpid(text)
  if (cpid === undefined) throw new Error(`${text} is no CPID`)
  return cpid
}
