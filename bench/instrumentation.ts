// What instrumentation costs a controller: node_modules/.bin/node --expose-gc bench/instrumentation.ts
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
} from '../src/instrumentation/index.ts'

/** What one operation takes, over all rounds. */
export interface Result {
  name: string
  unit: 'µs'
  median: number
  min: number
  max: number
  rounds: number
  /** What it may take at most. */
  target?: number
}

interface Operation<T> {
  name: string
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

/** Measures the core and what stands in the way of each object and span; takes some seconds. */
export async function benchInstrumentation(): Promise<Result[]> {
  const results: Result[] = []
  const measure = async <T>(operation: Operation<T>) => results.push(await measured(operation))
  await measure({
    name: 'merge of two, a new CPID',
    target: 3,
    input: () => [aContext(), aContext()],
    run: merge,
  })
  await measure({ name: 'merge of two, one stands', target: 3, input: aParentAndChild, run: merge })
  await measure({
    name: 'extract from an object and inject into it',
    target: 3,
    input: anObject,
    run: copyAnnotations,
  })
  await measure({ name: 'span processor, a span', target: 1, input: aStartedSpan, run: processSpan })
  await measure({ name: 'merge of a thousand', operationsARound: 5, input: aThousand, run: merge })
  await measure({ name: 'CPID of a klog line', input: aLine, run: parseCpidFromLine })
  return results
}

async function measured<T>(operation: Operation<T>): Promise<Result> {
  const { name, target, operationsARound = OPERATIONS_A_ROUND, input, run } = operation
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
  times.sort((a, b) => a - b)
  const at = (part: number) => times[Math.round(part * (times.length - 1))] ?? Number.NaN
  const spread = { median: at(0.5), min: at(0), max: at(1) }
  return { name, unit: 'µs', ...spread, rounds: ROUNDS, ...(target !== undefined && { target }) }
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

if (import.meta.main) {
  for (const { name, median, min, max, unit, target } of await benchInstrumentation()) {
    const limit = target === undefined ? '' : `  (target <= ${target} ${unit})`
    console.log(`${name}: ${median.toFixed(2)} ${unit}, ${min.toFixed(2)} to ${max.toFixed(2)}${limit}`)
  }
}
