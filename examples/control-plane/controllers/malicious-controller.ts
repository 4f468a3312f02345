import { randomUUID } from 'node:crypto'
import { SeverityNumber, type Logger, type Tracer } from '@opentelemetry/api'
import type { Instrumentation } from 'causeway/instrumentation'
import type { Deployment } from '../api/kube-objects.ts'
import { runLoop, type Controller } from '../runtime/controller.ts'
import { Informer, keyOf } from '../runtime/informer.ts'
import { WorkQueue } from '../runtime/work-queue.ts'

/** What the paper fears of a controller (section 6.4.2). */
export type Malice =
  /** Puts CPIDs on objects that nobody ever heard of. */
  | 'wrong-cpids'
  /** Lists strangers as ancestors, so that honest controllers believe a merge to be unnecessary. */
  | 'false-ancestors'
  /** Sends mergelogs that tie strangers together, contradict known ones, close cycles, or say nothing that makes sense. */
  | 'false-mergelogs'
  /** Sends spans and mergelogs as fast as it can. */
  | 'flood'

export interface MaliceSettings {
  malice: Malice
  /** After so many misdeeds it rests, so that a run ends. */
  most: number
  instrumentation: Instrumentation
  tracer: Tracer
  logger: Logger
  newCpid?: () => string
}

const FLOOD_AT_ONCE = 100

/** Meddles with every Deployment that changes, whenever another one did too. */
export function maliciousController(settings: MaliceSettings): Controller {
  const { malice, most, instrumentation, tracer, logger, newCpid = randomUUID } = settings
  const { extractFromObject, injectIntoObject } = instrumentation
  let deeds = 0

  return async (surroundings) => {
    const { client, clock, signal } = surroundings
    const deployments = new Informer('apps/v1/deployments', surroundings)
    const queue = new WorkQueue(clock, signal)
    deployments.onChange(({ latest }) => queue.add(keyOf(latest.metadata)))

    async function reconcile(key: string): Promise<void> {
      const deployment = deployments.get(key)
      const stranger = deployments.all().find(({ metadata }) => keyOf(metadata) !== key)
      if (deployment === undefined || deeds >= most) return
      deeds++
      if (malice === 'wrong-cpids') await write(deployment, { cpid: newCpid(), ancestors: [] })
      else if (malice === 'false-ancestors') await claimAncestors(deployment, stranger)
      else if (malice === 'false-mergelogs') lie(deployment, stranger)
      else await flood()
    }

    async function write(
      deployment: Deployment,
      context: { cpid: string; ancestors: string[] },
    ): Promise<void> {
      await client.update('apps/v1/deployments', injectIntoObject(context, deployment))
    }

    async function claimAncestors(deployment: Deployment, stranger: Deployment | undefined): Promise<void> {
      const own = extractFromObject(deployment)
      const other = extractFromObject(stranger)
      if (own === undefined || other === undefined || own.ancestors.includes(other.cpid)) return
      await write(deployment, { cpid: own.cpid, ancestors: [other.cpid, ...own.ancestors] })
    }

    async function flood(): Promise<void> {
      for (let sent = 0; sent < most; sent += FLOOD_AT_ONCE) {
        for (let one = 0; one < FLOOD_AT_ONCE; one++) {
          const cpid = newCpid()
          mergelog(cpid, [])
          tracer.startSpan('flood', { attributes: { 'cpid.id': cpid } }).end()
        }
        await clock.sleep(1, signal)
      }
    }

    await runLoop(surroundings, { informers: [deployments], queue, reconcile, workers: 1 })
  }

  function lie(deployment: Deployment, stranger: Deployment | undefined): void {
    const own = extractFromObject(deployment)?.cpid
    const other = extractFromObject(stranger)?.cpid
    if (own === undefined || other === undefined) return
    mergelog(newCpid(), [own, other])
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
