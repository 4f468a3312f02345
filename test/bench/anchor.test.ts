import { expect, test } from '@jest/globals'
import { cpidText, DEPLOYMENTS, nodeName, NODES } from '../../lab/bench/anchor/pod-change.ts'
import { fill, REQUESTS, templateOf } from '../../lab/bench/anchor/requests.ts'
import { LATEST, scheduleOf, type Sending } from '../../lab/bench/anchor/schedule.ts'
import { SendTimes } from '../../lab/bench/anchor/send-times.ts'
import { FIRST_SPAN, SPANS_PER_CHANGE, STEPS } from '../../lab/bench/anchor/steps.ts'
import { decodeLogs, decodeTraces } from '../../src/model/otlp/decode-requests.ts'
import { START_NS } from '../support/otlp-requests.ts'
import { drawTrace, type SentSpan, traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const SEED = 12_345
const BEGINS_MS = Number(START_NS / 1_000_000n)

function bytesOf({ shape, second, place, firstChange, changes }: Sending, changesPerSecond: number): Buffer {
  const template = templateOf(shape, changes)
  const beganMs = BEGINS_MS + second * 1000
  fill(template, shape, { seed: SEED, firstChange, changes, beganMs }, place, changesPerSecond)
  return template.bytes
}

/** Sends some seconds of a cluster to the real writer. */
function play(writer: TestWriter, changesPerSecond: number, seconds: number, firstChange = 0): void {
  for (const sending of scheduleOf({ changesPerSecond, seconds, firstChange })) {
    expect(writer.ingest(sending.shape.signal, bytesOf(sending, changesPerSecond))).toMatchObject({
      kind: 'accepted',
      rejected: 0,
      message: '',
    })
    writer.link()
  }
}

const isOfController = ({ attributes }: SentSpan): boolean => attributes['cpid.synthetic'] === undefined

test('every request is whole OTLP: its items are read, none is refused, no two spans have one id', () => {
  const ids = new Set<string>()
  let spans = 0
  for (const sending of scheduleOf({ changesPerSecond: 3, seconds: 2, firstChange: 7 })) {
    const bytes = bytesOf(sending, 3)
    const { signal } = sending.shape
    const decoded = signal === 'traces' ? decodeTraces(bytes) : decodeLogs(bytes)
    expect(decoded.rejected).toBe(0)
    expect(decoded.reasons).toEqual([])
    if (signal === 'logs') continue
    for (const { records } of decodeTraces(bytes).resources.flatMap(({ scopes }) => scopes)) {
      for (const { spanId } of records) ids.add(String(spanId))
      spans += records.length
    }
  }
  expect(spans).toBe(6 * SPANS_PER_CHANGE)
  expect(ids.size).toBe(spans)
})

test('a template is filled anew without a trace of what was in it', () => {
  for (const shape of REQUESTS) {
    const order = { seed: SEED, firstChange: 5, changes: 1, beganMs: BEGINS_MS }
    const fresh = templateOf(shape, 1)
    fill(fresh, shape, order)
    const used = templateOf(shape, 1).copy()
    fill(used, shape, { ...order, firstChange: 90_000, beganMs: BEGINS_MS + 9_000 })
    expect(used.bytes.equals(fresh.bytes)).toBe(false)
    fill(used, shape, order)
    expect(used.bytes.equals(fresh.bytes)).toBe(true)
  }
})

test('the cascade of a Pod change comes out as one trace, each step under what caused it', async () => {
  using writer = await TestWriter.open()
  play(writer, 1, 1)
  const trace = traceOf(cpidText(SEED, 0, 'operator'))
  const sent = writer.sent()
  expect(drawTrace(sent, trace)).toMatchInlineSnapshot(`
   "change apps/v1/deployments @kubectl
     merge @replicaset-controller
       merge @endpoints-controller
     update apps/v1/deployments @kubectl
       reconcile Deployment @deployment-controller
         update apps/v1/replicasets @deployment-controller
           reconcile ReplicaSet @replicaset-controller
             create v1/pods @replicaset-controller
               schedule Pod @scheduler
                 score nodes @scheduler
                 update v1/pods @scheduler
                   start Pod @kubelet
                     pull image @kubelet
                     start container @kubelet
                     update v1/pods/status @kubelet
                       reconcile ReplicaSet @replicaset-controller
                         update apps/v1/replicasets/status @replicaset-controller
                       reconcile Endpoints @endpoints-controller
                         update v1/endpoints @endpoints-controller
             update apps/v1/replicasets/status @replicaset-controller"
  `)
  expect(sent.filter(isOfController)).toHaveLength(SPANS_PER_CHANGE)
  expect(sent.filter(({ traceId }) => traceId !== trace).map(({ name }) => name)).toEqual([
    'sync node status',
    'get v1/nodes',
  ])
})

test('every span is sent once, and later changes of a Deployment merge with what it carries', async () => {
  using writer = await TestWriter.open()
  play(writer, 2, 3)
  writer.pass(300_001)
  play(writer, 2, 3, DEPLOYMENTS)
  const own = writer.sent().filter(isOfController)
  expect(own).toHaveLength(12 * SPANS_PER_CHANGE)
  expect(new Set(own.map(({ spanId }) => spanId)).size).toBe(own.length)
  expect(own.every(({ attributes }) => attributes['cpid.copy'] === undefined)).toBe(true)
  expect(writer.writer.linking.takeCounts()).toMatchObject({ lateMergelogs: 0, lateParents: 0, episodes: 0 })
  const sources = writer.db.prepare<[string], string>('SELECT source FROM audit_edges WHERE cpid = ?').pluck()
  expect(sources.all(cpidText(SEED, DEPLOYMENTS, 'replicaset')).toSorted()).toEqual(
    [cpidText(SEED, DEPLOYMENTS, 'operator'), cpidText(SEED, 0, 'replicaset')].toSorted(),
  )
})

test('the kubelets of all nodes send, each in its own name', () => {
  const nodes = new Set(Array.from({ length: 20 * NODES }, (_, change) => nodeName(change)))
  expect(nodes.size).toBe(NODES)
  const [kubelet] = REQUESTS.filter(({ isPerChange }) => isPerChange)
  if (kubelet === undefined) throw new Error('no kubelet sends')
  const template = templateOf(kubelet, 1)
  fill(template, kubelet, { seed: SEED, firstChange: 41, changes: 1, beganMs: BEGINS_MS })
  expect(template.bytes.toString('latin1').split(nodeName(41))).toHaveLength(4)
})

test('requests come in order of time, none before what it tells of', () => {
  const sendings = [...scheduleOf({ changesPerSecond: 4, seconds: 5, firstChange: 100 })]
  expect(sendings).toHaveLength(5 * (REQUESTS.length - 1 + 4))
  const times = sendings.map(({ atSecond }) => atSecond)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  for (const { atSecond, second, shape } of sendings) {
    expect(atSecond).toBeGreaterThanOrEqual(second + shape.sentAfter)
    expect(atSecond).toBeLessThan(second + LATEST + 1)
  }
})

test('a span can be linked once what led to it is acknowledged, idle work at once', () => {
  const order = { changesPerSecond: 1, seconds: 1, firstChange: 3, keepsTimes: true }
  const times = new SendTimes({
    ...order,
    kind: 'send',
    endpoint: '',
    seed: 0,
    speed: 1,
    beginsMs: 0,
    inFlight: 1,
  })
  for (const sending of scheduleOf(order)) {
    const { shape } = sending
    // The scheduler's request comes before that of the ReplicaSet controller, whose mergelog is last of the three.
    const late = shape.mergelog === 1 ? 30 : shape.steps[0] === 2 ? 20 : 10
    times.acknowledged(sending, late + (shape.service === 'kubelet' ? 25 : 0))
  }
  const { acknowledgedMs, linkableMs } = times.bySpan()
  const firstOf = (step: number): [number | undefined, number | undefined] => {
    const span = FIRST_SPAN[step] ?? -1
    return [acknowledgedMs[span], linkableMs[span]]
  }
  expect(STEPS.map((_, step) => firstOf(step))).toEqual([
    [10, 10],
    [10, 10],
    [20, 30],
    [10, 30],
    [35, 35],
    [10, 35],
    [10, 35],
    [35, 35],
  ])
})
