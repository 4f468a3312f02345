import { expect } from '@jest/globals'
import { logOf } from '../../../lab/harness/sinks/log-json.ts'
import { type Cpid, parseCpid } from '../../../src/model/merge-graph.ts'
import { jsonOfProtobuf } from '../../../src/model/otlp/protobuf-to-json.ts'
import { WireCursor } from '../../../src/model/otlp/protobuf-wire.ts'
import type { CausewayQueries } from '../../../src/model/queries.ts'
import type { TestWriter } from '../test-writer.ts'
import type { DrawnCascade, DrawnSpan } from './drawn-cascade.ts'
import { Known } from './expected-places.ts'

/** The number of its field in a span. */
const SPAN_ID = 2

/** Looks whether what has been acknowledged is in the next answer. */
export class Shown {
  readonly #queries: CausewayQueries
  /** CPIDs of one root whose change has its place there. */
  #entered = new Set<string>()

  constructor(writer: TestWriter) {
    this.#queries = writer.queries()
  }

  expectShown({ spans, mergelogs, logs }: DrawnCascade, isLinked: boolean): void {
    const known = new Known('cascade', spans, mergelogs)
    const cpids = new Set([...known.mergelogs.keys(), ...spans.flatMap(({ carries }) => carries ?? [])])
    if (isLinked) this.#entered = new Set([...cpids].filter((cpid) => isOfOneRoot(known, cpid)))
    for (const cpid of cpids) {
      const related = spans.filter((span) => known.isOf(span, cpid))
      expect({ cpid, spans: this.#spansOf(cpid) }).toEqual({ cpid, spans: rowsOf(related) })
      const said = logs.filter(({ carries }) => carries !== undefined && known.ancestorsOf(carries).has(cpid))
      expect({ cpid, logs: this.#logsOf(cpid) }).toEqual({ cpid, logs: said.map(({ body }) => body).sort() })
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
    return [...pages].flat().map(spanIdOf).sort()
  }

  #logsOf(cpid: string): string[] {
    const pages = this.#queries.logsOf(parsed(cpid), undefined)
    if (typeof pages === 'string') return []
    const found = [...pages].flat().map(({ raw }) => logOf(jsonOfProtobuf('LogRecord', raw)).what)
    return found.filter((what) => what !== 'cpid.mergelog').sort()
  }

  #inCascade(root: string): Set<string> {
    const traces = this.#queries.tracesOf(parsed(root))
    return new Set(
      traces.flatMap(({ id }) => this.#queries.linkedSpans(id).map(({ spanId }) => String(spanId))),
    )
  }
}

function spanIdOf({ raw }: { readonly raw: Buffer }): string {
  const cursor = new WireCursor(raw)
  while (cursor.next()) {
    if (cursor.field === SPAN_ID) return String(raw.readBigUInt64BE(cursor.start))
  }
  return ''
}

function isOfOneRoot(known: Known, cpid: string): boolean {
  return known.rootsOf(cpid).size === 1 && known.isExplained(cpid)
}

const rowsOf = (spans: readonly DrawnSpan[]): string[] => spans.map(({ id }) => String(id)).sort()

function parsed(text: string): Cpid {
  const cpid = parseCpid(text)
  if (cpid === undefined) throw new Error(`${text} is no CPID`)
  return cpid
}
