import { looksAtTrace, type Condition } from '../../query/traces/condition.ts'
import type { TraceQuestion, TraceShape } from '../../query/traces/trace-question.ts'
import { ANY_NUMBER, ANY_TEXT, BadParameter, traceIdOf, type Parameters } from './parameters.ts'
import { readTempoSearch, readTraceQl } from './read-tempo-search.ts'
import type { TraceRequest } from './trace-request.ts'

const MODES = ['all', 'blocks', 'ingesters', 'external']
const SCOPES = ['none', 'resource', 'span', 'intrinsic', 'event', 'link', 'instrumentation', 'trace']
const MAX_NAMES = 1_000

/** A request of Grafana's Tempo data source; undefined for any other path. Throws BadParameter. */
export function readTempoRequest(
  parts: readonly string[],
  parameters: Parameters,
  wantsProtobuf: boolean,
): TraceRequest | undefined {
  const [first, ...rest] = parts
  const version = first === 'v2' ? 2 : 1
  const [what, ...more] = version === 2 ? rest : parts
  if (what === 'echo' && more.length === 0) return { kind: 'fixed', text: 'echo', type: 'text/plain' }
  if (what === 'traces' && more.length === 1)
    return readTrace(more[0] ?? '', { version, wantsProtobuf }, parameters)
  if (what !== 'search') return undefined
  const [tag, name, values, ...others] = more
  if (tag === undefined) return version === 1 ? asked(readTempoSearch(parameters)) : undefined
  if (tag === 'tags' && name === undefined) {
    const scope = parameters.oneOf(SCOPES, 'scope')
    return asked({ kind: 'tags', version, ...readNames(parameters), ...(scope !== undefined && { scope }) })
  }
  if (tag !== 'tag' || name === undefined || values !== 'values' || others.length > 0) return undefined
  return asked({ kind: 'tagValues', version, tag: decodedAgain(name), ...readNames(parameters) })
}

function asked(question: TraceQuestion): TraceRequest {
  return { kind: 'question', question, dialect: 'tempo' }
}

/** Where Tempo looks for a trace, and when, makes no difference here. */
function readTrace(
  text: string,
  { version, wantsProtobuf }: { version: 1 | 2; wantsProtobuf: boolean },
  parameters: Parameters,
): TraceRequest {
  parameters.oneOf(MODES, 'mode')
  parameters.pass(ANY_TEXT, 'blockStart', 'blockEnd')
  parameters.pass(ANY_NUMBER, 'start', 'end')
  const traceId = traceIdOf(text)
  if (traceId === undefined) throw new BadParameter('a trace id is 1 to 32 hex digits')
  const json: TraceShape = version === 2 ? 'tempoJsonV2' : 'tempoJson'
  const protobuf: TraceShape = version === 2 ? 'tempoProtobufV2' : 'tempoProtobuf'
  return asked({ kind: 'sentTrace', traceId, shape: wantsProtobuf ? protobuf : json })
}

/** Names and values are those of the newest spans, whatever the time asked about. */
function readNames(parameters: Parameters): { limit: number; condition: Condition } {
  parameters.pass(ANY_NUMBER, 'start', 'end', 'maxStaleValues')
  const limit =
    parameters.text('limit') === '0' ? MAX_NAMES : parameters.count(['limit'], MAX_NAMES, MAX_NAMES)
  const condition = readTraceQl(parameters.text('q'))
  if (looksAtTrace(condition))
    throw new BadParameter(
      'parameter q: names and values can be asked for by what a span has, not by what its trace has',
    )
  return { limit, condition }
}

/** Grafana encodes names of attributes twice. */
function decodedAgain(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
