import type { ExtensionConfig } from '../config/causeway-config.ts'
import { typeNamed } from '../config/declarations.ts'
import type { ExtensionHost, RunningExtension } from '../extension/extension-type.ts'
import { collectGarbage } from '../store/collect-garbage.ts'
import type { AuthenticatorOf } from './open-authenticators.ts'
import { QueriesOnDemand } from './questions/queries-on-demand.ts'
import type { Intake } from './start-receivers.ts'
import { listenerOptionsOf, type Starting } from './starting.ts'
import type { StoreClient } from './store/store-client.ts'

/** What extensions may ask for besides what everything has in common. */
export interface ExtensionContext {
  readonly authenticatorOf: AuthenticatorOf
  readonly intake: Intake
  /** Not there for extensions that start before the database. */
  readonly store?: StoreClient
}

/** Starts the extensions that start before the database is opened, or the others, in the order of the configuration. */
export async function startExtensions(
  stage: 'first' | 'later',
  starting: Starting,
  context: ExtensionContext,
): Promise<RunningExtension[]> {
  const running: RunningExtension[] = []
  for (const extension of starting.config.extensions) {
    const type = typeNamed(starting.components.extensions, extension.type)
    if (type?.load === undefined || (type.startsFirst === true) !== (stage === 'first')) continue
    const module = await type.load()
    const host = hostOf(extension, starting, context)
    running.push(starting.open.use(await module.startExtension(extension, host)))
  }
  return running
}

function hostOf(
  { id }: ExtensionConfig,
  starting: Starting,
  { authenticatorOf, intake, store }: ExtensionContext,
): ExtensionHost {
  const { config, resource, log, metrics, feed, places } = starting
  return {
    version: resource['service.version'],
    log,
    metrics,
    doorOf: (path, writeTimeoutMs) => listenerOptionsOf(starting, id, places.extension(path), writeTimeoutMs),
    authenticatorOf,
    openQuestions: (hooks) => new QueriesOnDemand(config.cpid.storage.path, hooks),
    collectGarbage: () => {
      collectGarbage()
      store?.collectGarbage()
    },
    isIdle: () => intake.inFlight.bytes === 0,
    onTrouble: (reason) => feed.notice(reason),
    onFailedQuestion: (reason) => feed.questionFailed(reason),
    onStorageFault: (part, fault) => feed.storage(part, fault),
    onTurnedAway: (reason) => feed.turnedAway({ receiver: id, transport: 'http', reason }),
  }
}
