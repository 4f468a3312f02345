import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { createInstrumentation } from '../../packages/instrumentation/src/create-instrumentation.ts'
import { traceCluster } from '../../packages/instrumentation/src/kubernetes/index.ts'
import type { KubernetesObject } from '../../packages/instrumentation/src/objects/kubernetes-object.ts'
import { collectionOf, takes } from '../../packages/instrumentation/src/kubernetes/deleted-collections.ts'
import { derivedRoot } from '../../packages/instrumentation/src/kubernetes/derived-root.ts'
import { derivedCpid } from '../../src/kube/inference/write-key.ts'
import { startSdk } from './support/start-sdk.ts'

/** What one step of a vector has a library do, and what comes of it. */
type Step =
  | { do: 'newRoot'; detail?: Detail; context: Context }
  | { do: 'merge' | 'plan'; of: (Annotations | null)[]; detail?: Detail; context: Context }
  | { do: 'accepted'; context: Context }
  | { do: 'read'; annotations: Annotations; context: Context | null }
  | { do: 'derive'; cluster: string; uid: string; resourceVersion: string; cpid: string }
  | { do: 'found'; cluster: string; object: KubernetesObject; cpid: string | null }
  | ({ do: 'deleteAll' } & DeleteAll)
  | { do: 'write'; context: Context; annotations: Annotations; written: Annotations }
interface DeleteAll {
  namespace?: string
  labels?: string
  fields?: string
  answered?: string
  now?: string
  of: { name: string }[]
  taken: string[]
}
interface Detail {
  object?: KubernetesObject
  reason?: string
}
type Annotations = Record<string, string>
interface Context {
  cpid: string
  ancestors: string[]
}
interface Vector {
  name: string
  settings?: { maxAncestors?: number; maxSources?: number }
  /** The CPIDs that are made, in turn. */
  newCpids: string[]
  steps: Step[]
  /** The mergelogs that are sent, in turn. */
  mergelogs: Record<string, unknown>[]
}

const FOLDER = new URL('../../packages/instrumentation/conformance/', import.meta.url)
const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'))

const read = (file: string): Vector[] =>
  (JSON.parse(readFileSync(new URL(file, FOLDER), 'utf8')) as { vectors: Vector[] }).vectors
const withAnnotations = (annotations: Annotations | null): KubernetesObject | undefined =>
  annotations === null ? undefined : { metadata: { annotations } }

/** What an informer tells of an object of which nothing was told before. */
function found(cluster: string, object: KubernetesObject): string | undefined {
  const told: ((object: KubernetesObject) => void)[] = []
  const plain = {
    on: (verb: string, tell: (object: KubernetesObject) => void): void => {
      if (verb === 'add') told.push(tell)
    },
    get: () => undefined,
    list: () => [],
  }
  const traced = traceCluster({ makeApiClient: () => undefined }, { cluster })
  traced.informer(plain, {})
  for (const tell of told) tell(object)
  return traced.instrumentation.extractFromObject(object)?.cpid
}

function takenBy({
  namespace,
  labels = '',
  fields = '',
  answered,
  now = '2026-01-01',
  of,
}: DeleteAll): string[] {
  const query = new URLSearchParams({ labelSelector: labels, fieldSelector: fields })
  const target = { apiVersion: 'v1', resource: 'configmaps', namespace }
  const collection = collectionOf(target, `https://localhost/any?${String(query)}`)
  if (answered !== undefined) collection.answeredMs = Date.parse(answered)
  const taken = of.filter((metadata) => takes(collection, { metadata }, Date.parse(now)))
  return taken.map(({ name }) => name)
}

function play(step: Step, library: ReturnType<typeof createInstrumentation>): void {
  const { extractFromObject } = library
  if (step.do === 'derive') {
    const { cluster, uid, resourceVersion: version, cpid } = step
    expect(derivedRoot(cluster, uid, version)).toBe(cpid)
    expect(derivedCpid('root', { cluster, uid, version })).toBe(cpid)
  } else if (step.do === 'found') expect(found(step.cluster, step.object) ?? null).toBe(step.cpid)
  else if (step.do === 'deleteAll') expect(takenBy(step)).toEqual(step.taken)
  else if (step.do === 'accepted') library.accepted(step.context)
  else if (step.do === 'newRoot') expect(library.newRoot(step.detail)).toEqual(step.context)
  else if (step.do === 'read')
    expect(extractFromObject(withAnnotations(step.annotations)) ?? null).toEqual(step.context)
  else if (step.do === 'write') {
    const object = { metadata: { annotations: step.annotations } }
    expect(library.injectIntoObject(step.context, object).metadata.annotations).toEqual(step.written)
  } else {
    const contexts = step.of.map((annotations) => extractFromObject(withAnnotations(annotations)))
    expect(library[step.do](contexts, step.detail)).toEqual(step.context)
  }
}

test('there are vectors of each kind', () => {
  expect(files).toEqual([
    'annotations.json',
    'collections.json',
    'derived.json',
    'first-sight.json',
    'merges.json',
    'writes.json',
  ])
})

describe.each(files)('%s', (file) => {
  test.each(read(file))('$name', async ({ settings, newCpids, steps, mergelogs }) => {
    await using sdk = startSdk()
    const made = [...newCpids]
    const library = createInstrumentation({ ...settings, newCpid: () => made.shift() ?? 'none is left' })
    for (const step of steps) play(step, library)
    expect(made).toEqual([])
    expect(sdk.records().map(({ attributes }) => attributes)).toEqual(mergelogs)
  })
})
