import { randomUUID } from 'node:crypto'
import { ROOT_CONTEXT, type Span } from '@opentelemetry/api'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import {
  CpidSpanProcessor,
  createInstrumentation,
  mergeTraceContexts,
  parseCpidFromLine,
  setTraceContext,
  type KubernetesObject,
  type TraceContext,
} from '../../../packages/instrumentation/src/index.ts'
import type { Figure, SectionResult } from '../measure/figures.ts'

interface Operation<T> {
  key: string
  label: string
  target?: number
  operationsARound?: number
  /** Each operation of a round has an input of its own, lest a cache answer for it. */
  input: () => T
  run: (input: T) => unknown
}

const ROUNDS = 101
const WARM_UP_ROUNDS = 30
const OPERATIONS_A_ROUND = 1_000
const ANCESTORS = 10

const merging = { maxAncestors: ANCESTORS, newCpid: randomUUID }
const { extractFromObject, injectIntoObject } = createInstrumentation()
const tracer = new TracerProvider().getTracer('bench')

/** Measures what instrumentation costs a controller: the core, and what stands in the way of each object and span. */
export async function benchInstrumentation(_options: unknown, onRound: () => void): Promise<SectionResult> {
  const figures: Record<string, Figure> = {}
  const rounds: Record<string, number>[] = Array.from({ length: ROUNDS }, () => ({}))
  const measure = async <T>(operation: Operation<T>) => {
    const { key, label, target } = operation
    figures[key] = {
      label,
      unit: 'µs',
      digits: 2,
      ...(target !== undefined && { target: { atMost: target } }),
    }
    const times = await timesOf(operation)
    for (const [round, us] of times.entries()) (rounds[round] ??= {})[key] = us
    onRound()
  }
  await measure({
    key: 'mergeToNewUs',
    label: 'merge of two, a new CPID',
    target: 3,
    input: () => [aContext(), aContext()],
    run: merge,
  })
  await measure({
    key: 'mergeToOneUs',
    label: 'merge of two, one stands',
    target: 3,
    input: aParentAndChild,
    run: merge,
  })
  await measure({
    key: 'extractAndInjectUs',
    label: 'extract from an object and inject into it',
    target: 3,
    input: anObject,
    run: copyAnnotations,
  })
  await measure({
    key: 'spanProcessorUs',
    label: 'span processor, a span',
    target: 1,
    input: aStartedSpan,
    run: processSpan,
  })
  await measure({
    key: 'mergeOfThousandUs',
    label: 'merge of a thousand',
    operationsARound: 5,
    input: aThousand,
    run: merge,
  })
  await measure({ key: 'klogLineUs', label: 'CPID of a klog line', input: aLine, run: parseCpidFromLine })
  return {
    name: 'instrumentation',
    about: `one call, ${ANCESTORS} ancestors, ${OPERATIONS_A_ROUND} calls a round`,
    figures,
    rounds,
  }
}

/** Microseconds an operation, a value a round. */
async function timesOf<T>(operation: Operation<T>): Promise<number[]> {
  const { operationsARound = OPERATIONS_A_ROUND, input, run } = operation
  const times: number[] = []
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    const inputs = Array.from({ length: operationsARound }, input)
    globalThis.gc?.()
    const startedMs = performance.now()
    for (const one of inputs) run(one)
    const us = ((performance.now() - startedMs) * 1000) / operationsARound
    if (round >= 0) times.push(us)
    await new Promise(setImmediate)
  }
  return times
}

function merge(contexts: TraceContext[]): unknown {
  return mergeTraceContexts(contexts, merging)
}

function copyAnnotations(object: KubernetesObject): unknown {
  return injectIntoObject(extractFromObject(object), object)
}

const processor = new CpidSpanProcessor()
const inside = setTraceContext(ROOT_CONTEXT, aContext())

function processSpan(span: Span): void {
  processor.onStart(span, inside)
}

function aContext(ancestors = Array.from({ length: ANCESTORS }, () => text(randomUUID()))): TraceContext {
  return { cpid: text(randomUUID()), ancestors }
}

function aParentAndChild(): TraceContext[] {
  const parent = aContext()
  return [aContext([parent.cpid, ...parent.ancestors.slice(1)]), parent]
}

function aThousand(): TraceContext[] {
  return Array.from({ length: 1_000 }, () => aContext())
}

function anObject(): KubernetesObject {
  const object = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', annotations: { a: 'b', c: 'd' } } }
  return JSON.parse(JSON.stringify(injectIntoObject(aContext(), object))) as KubernetesObject
}

function aStartedSpan(): Span {
  return tracer.startSpan('reconcile')
}

function aLine(): string {
  return `I0102 03:04:05.678901    1234 controller.go:601] "Syncing" object="default/web" cpid="${randomUUID()}"`
}

/** The text as it comes from outside: no string in memory is the same one. */
function text(written: string): string {
  return Buffer.from(written).toString()
}
