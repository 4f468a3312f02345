import { randomUUID } from 'node:crypto'
import { SeverityNumber, type Logger, type Tracer } from '@opentelemetry/api'
import type { Instrumentation, TraceContext } from 'causeway-instrumentation'
import type { KubeObject, Resources } from '../api/kube-objects.ts'
import { runLoop, type Controller } from '../runtime/controller.ts'
import { Informer, keyOf } from '../runtime/informer.ts'
import { WorkQueue } from '../runtime/work-queue.ts'

/** What the paper fears of a controller (section 6.4.2). */
type Malice =
  /** Puts CPIDs on objects that nobody ever heard of. */
  | 'wrong-cpids'
  /** Lists strangers as ancestors, so that honest controllers believe a merge to be unnecessary. */
  | 'false-ancestors'
  /** Puts CPIDs on objects after mergelogs that say they come from strangers too. */
  | 'false-ties'
  /** Sends mergelogs that contradict known ones, close cycles, or make no sense. */
  | 'false-mergelogs'
  /** Sends spans and mergelogs of changes that never were, as fast as it can. */
  | 'flood'

type Victim = 'apps/v1/deployments' | 'v1/pods' | 'v1/services'

export interface MaliceSettings extends Means {
  malice: Malice
  /** What it meddles with: Deployments unless said otherwise. */
  resource?: Victim
  /** After so many misdeeds it rests, so that a run ends: objects that it meddled with, or changes that it made up. */
  most: number
}

/** What it uses, as an honest controller would. */
export interface Means {
  instrumentation: Instrumentation
  tracer: Tracer
  logger: Logger
  newCpid?: () => string
}

/** What the SDK's queues of usual size take. */
const FLOOD_AT_ONCE = 100

/** Meddles with every object of a resource that another has changed, and ties it to the Deployment changed last. */
export function maliciousController(settings: MaliceSettings): Controller {
  const {
    malice,
    resource = 'apps/v1/deployments',
    most,
    instrumentation,
    tracer,
    logger,
    newCpid = randomUUID,
  } = settings
  const { extractFromObject, injectIntoObject } = instrumentation
  let deeds = 0

  return async (surroundings) => {
    const { client, clock, signal } = surroundings
    const objects = new Informer<Victim>(resource, surroundings)
    const deployments = new Informer('apps/v1/deployments', surroundings)
    const queue = new WorkQueue(clock, signal)
    const own = new Set<string>()
    objects.onChange(({ latest }) => queue.add(keyOf(latest.metadata)))
    deployments.onChange(() => {
      for (const { metadata } of objects.all()) queue.add(keyOf(metadata))
    })

    async function reconcile(key: string): Promise<void> {
      const object = objects.get(key)
      if (object === undefined || own.has(object.metadata.resourceVersion) || deeds >= most) return
      const strangers = deployments.all().filter(({ metadata }) => metadata.uid !== object.metadata.uid)
      const stranger = strangers.toSorted(byVersion).at(-1)
      deeds++
      if (malice === 'wrong-cpids') await write(object, { cpid: newCpid(), ancestors: [] })
      else if (malice === 'false-ancestors') await claimAncestors(object, stranger)
      else if (malice === 'false-ties') await tie(object, stranger)
      else if (malice === 'false-mergelogs') lie(object, stranger)
      else await flood()
    }

    async function tie(object: KubeObject, stranger: KubeObject | undefined): Promise<void> {
      const theirs = extractFromObject(object)?.cpid
      const other = extractFromObject(stranger)?.cpid
      if (theirs === undefined || other === undefined) return
      const cpid = newCpid()
      mergelog(cpid, [theirs, other])
      await write(object, { cpid, ancestors: [] })
    }

    async function write(object: KubeObject, context: TraceContext): Promise<void> {
      own.add(await claim(object, context))
    }

    /** Returns the version that the object has then. */
    async function claim(object: KubeObject, context: TraceContext): Promise<string> {
      const lie = injectIntoObject(context, object) as Resources[Victim]
      return (await client.update(resource, lie)).metadata.resourceVersion
    }

    async function claimAncestors(object: KubeObject, stranger: KubeObject | undefined): Promise<void> {
      const theirs = extractFromObject(object)
      const other = extractFromObject(stranger)
      if (theirs === undefined || other === undefined || theirs.ancestors[0] === other.cpid) return
      await claim(object, { cpid: theirs.cpid, ancestors: [other.cpid, ...theirs.ancestors] })
    }

    async function flood(): Promise<void> {
      while (deeds < most) {
        for (let one = 0; one < FLOOD_AT_ONCE; one++) {
          const cpid = newCpid()
          mergelog(cpid, [])
          tracer.startSpan('flood', { attributes: { 'cpid.id': cpid } }).end()
        }
        deeds += FLOOD_AT_ONCE
        await clock.sleep(1, signal)
      }
    }

    await runLoop(surroundings, { informers: [objects, deployments], queue, reconcile, workers: 1 })
  }

  function lie(object: KubeObject, stranger: KubeObject | undefined): void {
    const own = extractFromObject(object)?.cpid
    const other = extractFromObject(stranger)?.cpid
    if (own === undefined || other === undefined) return
    mergelog(own, [other])
    mergelog(other, [own])
    mergelog(own, [own])
    mergelog('not a UUID', [own])
  }

  function mergelog(cpid: string, sources: string[]): void {
    logger.emit({
      eventName: 'cpid.mergelog',
      severityNumber: SeverityNumber.INFO,
      attributes: { 'cpid.new': cpid, 'cpid.sources': sources },
    })
  }
}

function byVersion(one: KubeObject, other: KubeObject): number {
  return Number(one.metadata.resourceVersion) - Number(other.metadata.resourceVersion)
}
