import { createInstrumentation } from '../create-instrumentation.ts'
import type { Instrumentation, InstrumentationSettings } from '../instrumentation.ts'
import type { ObjectType } from '../objects/object-reference.ts'
import type {
  AnyInformer,
  ClientConfig,
  ClientConfiguration,
  ClientInformer,
  ClientList,
  ClientObject,
  MakesInformers,
} from './client-types.ts'
import { type Reconciler, tracedReconciler } from './reconciler.ts'
import { tracedHttp } from './traced-http.ts'
import { withMethods } from './with-methods.ts'
import { fillIn, tracedInformer } from './traced-informer.ts'
import { attempt } from '../attempt.ts'
import { requestTarget } from './request-target.ts'

export interface TraceClusterSettings extends InstrumentationSettings {
  /** An existing instrumentation; its own settings then apply. */
  instrumentation?: Instrumentation
  /** Whether requests carry `traceparent`; turn it off with an HTTP instrumentation, which does the same. True unless given. */
  sendsTraceparent?: boolean
  /** Whether an object is annotated with the change before its deletion, by one more request. True unless given. */
  marksDeletions?: boolean
  /** Whether a successful reconcile without writes makes a span. False unless given. */
  keepsIdleSpans?: boolean
  /**
   * Whether a status write by Kubernetes itself that triggered a reconcile is reported, as a parent span of zero duration. Leave it off
   * where Causeway watches the cluster, which reports more of it. False unless given.
   */
  tellsStatusWrites?: boolean
}

/** A cluster as an instrumented controller uses it. */
export interface TracedCluster<Config> {
  readonly instrumentation: Instrumentation
  /** The given configuration, whose API clients are traced. */
  readonly kubeConfig: Config
  /**
   * `makeInformer` with traced informers: they fill in the type of their objects, note reads of reconciles, and recognise deletions and
   * writes by writers without CPIDs.
   */
  readonly informers: <Make extends MakesInformers>(makeInformer: Make) => Make
  /** Traces an informer that was made in another way, of objects of this type; call it before handlers are added. */
  readonly informer: <Informer extends AnyInformer>(informer: Informer, type: ObjectType) => Informer
  /** Wraps a reconcile function in a span with its causes, for any work queue. */
  readonly reconciler: <Key extends string, Outcome>(
    name: string,
    reconcile: (key: Key) => Promise<Outcome>,
  ) => Reconciler<Key, Outcome>
}

/**
 * Instruments a controller that uses `@kubernetes/client-node`. Throws a RangeError when a limit in the settings is invalid.
 */
export function traceCluster<Config extends ClientConfig>(
  kubeConfig: Config,
  settings: TraceClusterSettings = {},
): TracedCluster<Config> {
  const instrumentation = settings.instrumentation ?? createInstrumentation(settings)
  const { sendsTraceparent = true, marksDeletions = true } = settings
  const { keepsIdleSpans = false, tellsStatusWrites = false } = settings

  /** `makeApiClient` passes its configuration to the given class, which is how it is read here. */
  function makeApiClient(type: never): unknown {
    let configuration: ClientConfiguration | undefined
    function Taken(given: ClientConfiguration): void {
      configuration = given
    }
    kubeConfig.makeApiClient(Taken as never)
    if (configuration === undefined) return kubeConfig.makeApiClient(type)
    const httpApi = tracedHttp(configuration.httpApi, instrumentation, { sendsTraceparent, marksDeletions })
    return new (type as new (configuration: ClientConfiguration) => unknown)({ ...configuration, httpApi })
  }

  return {
    instrumentation,
    kubeConfig: withMethods<Config>(kubeConfig, { makeApiClient } as Partial<Record<keyof Config, unknown>>),
    informers: (makeInformer) => tracedInformers(makeInformer, instrumentation),
    informer: (informer, type) =>
      tracedInformer(
        informer as unknown as ClientInformer<ClientObject>,
        type,
        instrumentation,
      ) as unknown as typeof informer,
    reconciler: (name, reconcile) =>
      tracedReconciler(name, reconcile, instrumentation, { keepsIdleSpans, tellsStatusWrites }),
  }
}

type Make = (
  config: unknown,
  path: string,
  list: () => Promise<ClientList>,
  labelSelector?: string,
) => ClientInformer<ClientObject>

/** `makeInformer` with traced informers. The type of their objects is read from path and lists. */
function tracedInformers<Given extends MakesInformers>(
  makeInformer: Given,
  instrumentation: Instrumentation,
): Given {
  const make = makeInformer as unknown as Make
  const traced: Make = (config, path, list, ...selector) => {
    const { apiVersion, resource } =
      attempt(() => requestTarget('GET', `https://localhost${path}`), undefined) ?? {}
    const filledIn = async (): Promise<ClientList> => {
      const listed = await list()
      attempt(() => {
        for (const item of listed.items) fillIn(item, { apiVersion, kind: listed.kind })
      }, undefined)
      return listed
    }
    return tracedInformer(
      make(config, path, filledIn, ...selector),
      { apiVersion, resource },
      instrumentation,
    )
  }
  return traced as unknown as Given
}
