import type { LinkedSignal } from '../../../src/model/otlp-requests.ts'
import { texts } from '../growth/fresh-changes.ts'
import { scrambled, text } from '../load/span-template.ts'
import { MarkedTemplate, type Marks } from './marked-template.ts'
import { cpidText, nodeName, OBJECT_LENGTH, objectOf, previousChange, SPAN_ID_PREFIX } from './pod-change.ts'
import {
  FIRST_SPAN,
  MERGELOGS,
  type MergelogShape,
  SPANS_PER_CHANGE,
  type SpanShape,
  type Step,
  STEPS,
} from './steps.ts'

const CPID_LENGTH = 36
const NODE_LENGTH = nodeName(0).length
const MS = 1_000_000n

/** One request of one sender: what it does, or that it merges, for some changes. */
export interface RequestShape {
  signal: LinkedSignal
  service: string
  sentAfter: number
  /** Numbers in STEPS, or of one in MERGELOGS. */
  steps: readonly number[]
  mergelog?: number
  /** Each change has a request of its own, as the kubelets of 5,000 nodes send theirs. */
  isPerChange: boolean
}

/** What is sent for the changes of a second. */
export const REQUESTS: readonly RequestShape[] = [
  ...MERGELOGS.map(({ service, sentAfter }, mergelog): RequestShape => {
    return { signal: 'logs', service, sentAfter, steps: [], mergelog, isPerChange: false }
  }),
  ...STEPS.flatMap(({ service, sentAfter }, step): RequestShape[] =>
    service === 'kubelet'
      ? []
      : [{ signal: 'traces', service, sentAfter, steps: [step], isPerChange: false }],
  ),
  {
    signal: 'traces',
    service: 'kubelet',
    sentAfter: 2,
    steps: STEPS.flatMap(({ service }, step) => (service === 'kubelet' ? [step] : [])),
    isPerChange: true,
  },
]

/** The template of a request for `changes` changes. */
export function templateOf(shape: RequestShape, changes: number): MarkedTemplate {
  return MarkedTemplate.of(shape.signal, (marks) => {
    const resource = resourceJson(shape, marks)
    const scope = { name: 'bench' }
    const mergelog = shape.mergelog === undefined ? undefined : MERGELOGS[shape.mergelog]
    if (mergelog !== undefined) {
      const logRecords = Array.from({ length: changes }, () => mergelogJson(mergelog, marks))
      return { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords }] }] }
    }
    const spans = Array.from({ length: changes }, () =>
      stepsOf(shape).flatMap(([step]) => step.spans.map((span) => spanJson(step, span, marks))),
    ).flat()
    return { resourceSpans: [{ resource, scopeSpans: [{ scope, spans }] }] }
  })
}

interface FillOrder {
  seed: number
  firstChange: number
  changes: number
  /** When the second of the changes began, Unix milliseconds. */
  beganMs: number
}

/** Writes into the template what its sender sends for these changes, one after the other within a second. */
export function fill(
  template: MarkedTemplate,
  shape: RequestShape,
  order: FillOrder,
  place = 0,
  of = order.changes,
): void {
  template.rewind()
  if (shape.isPerChange) {
    const node = nodeName(order.firstChange)
    for (let at = 0; at < KUBELET_NAMES; at++) template.text(node)
  }
  const mergelog = shape.mergelog === undefined ? undefined : MERGELOGS[shape.mergelog]
  for (let at = 0; at < order.changes; at++) {
    const change = order.firstChange + at
    const changedNs = BigInt(Math.trunc(order.beganMs + ((place + at) * 1000) / of)) * MS
    if (mergelog !== undefined) fillMergelog(template, mergelog, order.seed, change, changedNs)
    else {
      for (const [step, number] of stepsOf(shape))
        fillStep(template, step, number, order.seed, change, changedNs)
    }
  }
  if (!template.isFilled()) throw new Error('the template has marks that nothing was written to')
}

function stepsOf(shape: RequestShape): [Step, number][] {
  return shape.steps.flatMap((number): [Step, number][] => {
    const step = STEPS[number]
    return step === undefined ? [] : [[step, number]]
  })
}

function fillMergelog(
  template: MarkedTemplate,
  { cpid, source, mergesPrevious, object, beginsMs }: MergelogShape,
  seed: number,
  change: number,
  changedNs: bigint,
): void {
  template.time(changedNs + BigInt(beginsMs) * MS)
  template.text(cpidText(seed, change, cpid))
  if (source !== undefined) template.text(cpidText(seed, change, source))
  if (mergesPrevious) {
    const previous = previousChange(change)
    template.text(cpidText(seed, previous, previous === change ? (source ?? cpid) : cpid))
  }
  template.text(objectOf(change, object))
}

function fillStep(
  template: MarkedTemplate,
  { cpid, beginsMs, spans }: Step,
  number: number,
  seed: number,
  change: number,
  changedNs: bigint,
): void {
  const first = change * SPANS_PER_CHANGE + (FIRST_SPAN[number] ?? 0)
  const trace = change * STEPS.length + number
  const beganNs = changedNs + BigInt(beginsMs) * MS
  spans.forEach(({ under, fromMs, toMs, observed, wrote }, at) => {
    template.words(scrambled(seed ^ trace), scrambled(trace), seed, trace)
    template.words(SPAN_ID_PREFIX, first + at)
    if (under !== undefined) template.words(SPAN_ID_PREFIX, first + under)
    template.time(beganNs + BigInt(fromMs) * MS)
    template.time(beganNs + BigInt(toMs) * MS)
    if (cpid !== undefined) template.text(cpidText(seed, change, cpid))
    if (observed !== undefined) template.text(objectOf(change, observed))
    if (wrote !== undefined) template.text(objectOf(change, wrote))
  })
}

/** Attributes of a kubelet's resource that hold the name of its node. */
const KUBELET_NAMES = 3

function resourceJson({ service, isPerChange }: RequestShape, marks: Marks): unknown {
  const name = (): string => marks.text(NODE_LENGTH)
  const own = isPerChange
    ? [text('service.instance.id', name()), text('host.name', name()), text('k8s.node.name', name())]
    : [text('service.instance.id', `${service}-0`)]
  return { attributes: [text('service.name', service), text('k8s.cluster.name', 'anchor'), ...own] }
}

function mergelogJson({ source, mergesPrevious, object, reason }: MergelogShape, marks: Marks): unknown {
  const timeUnixNano = marks.time()
  const cpid = marks.text(CPID_LENGTH)
  const sources = [source !== undefined, mergesPrevious].flatMap((has) =>
    has ? [marks.text(CPID_LENGTH)] : [],
  )
  return {
    timeUnixNano,
    eventName: 'cpid.mergelog',
    attributes: [
      text('cpid.new', cpid),
      texts('cpid.sources', sources),
      text('cpid.object', marks.text(OBJECT_LENGTH[object.kind])),
      text('cpid.reason', reason),
    ],
  }
}

function spanJson(
  { service, cpid }: Step,
  { name, under, kind, observed, wrote }: SpanShape,
  marks: Marks,
): unknown {
  const verb = name.split(' ')[0] ?? name
  return {
    traceId: marks.id(16),
    spanId: marks.id(8),
    ...(under !== undefined && { parentSpanId: marks.id(8) }),
    name,
    kind,
    startTimeUnixNano: marks.time(),
    endTimeUnixNano: marks.time(),
    attributes: [
      ...(cpid === undefined ? [] : [text('cpid.id', marks.text(CPID_LENGTH))]),
      ...(observed === undefined ? [] : [texts('cpid.observed', [marks.text(OBJECT_LENGTH[observed.kind])])]),
      ...(wrote === undefined ? [] : [texts('cpid.wrote', [marks.text(OBJECT_LENGTH[wrote.kind])])]),
      text('controller.name', service),
      ...(kind === 3
        ? [
            text('http.request.method', { get: 'GET', create: 'POST' }[verb] ?? 'PUT'),
            text('server.address', '10.96.0.1'),
            { key: 'http.response.status_code', value: { intValue: '200' } },
          ]
        : []),
    ],
    status: {},
  }
}
