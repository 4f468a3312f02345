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
  /** An instrumentation that is there already; the settings of one count for nothing then. */
  instrumentation?: Instrumentation
  /** Whether requests carry `traceparent`; not with an HTTP instrumentation of OpenTelemetry, which does that as well. True unless given. */
  sendsTraceparent?: boolean
  /** Whether what is to be deleted is made to carry the change first, with one more request. True unless given. */
  marksDeletions?: boolean
  /** Whether a reconcile that wrote nothing, and did not fail, leaves a span. False unless given. */
  keepsIdleSpans?: boolean
  /**
   * Whether a write of a status by Kubernetes itself that woke a reconcile is told, as a span without length: what it woke hangs
   * below it, and waited for it. Not where Causeway watches the cluster, which tells more of it. False unless given.
   */
  tellsStatusWrites?: boolean
}

/** A cluster as an instrumented controller uses it. */
export interface TracedCluster<Config> {
  readonly instrumentation: Instrumentation
  /** The configuration given, except that the API clients that it makes are traced. */
  readonly kubeConfig: Config
  /**
   * `makeInformer`, whose informers fill in what their objects are, tell reconciles what they read, and recognise deletions and
   * writes of those who carry no CPID.
   */
  readonly informers: <Make extends MakesInformers>(makeInformer: Make) => Make
  /** The same for an informer made in another way, of objects of this type; before it gets its handlers. */
  readonly informer: <Informer extends AnyInformer>(informer: Informer, type: ObjectType) => Informer
  /** The reconcile as a span with its causes, for any work queue. */
  readonly reconciler: <Key extends string, Outcome>(
    name: string,
    reconcile: (key: Key) => Promise<Outcome>,
  ) => Reconciler<Key, Outcome>
}

/**
 * What a controller with `@kubernetes/client-node` needs to tell what its work comes from. Throws a RangeError when a limit
 * in the settings makes no sense.
 */
export function traceCluster<Config extends ClientConfig>(
  kubeConfig: Config,
  settings: TraceClusterSettings = {},
): TracedCluster<Config> {
  const instrumentation = settings.instrumentation ?? createInstrumentation(settings)
  const { sendsTraceparent = true, marksDeletions = true } = settings
  const { keepsIdleSpans = false, tellsStatusWrites = false } = settings

  /** The client makes its configuration itself, and gives it to whatever class is asked for. */
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

/** `makeInformer` with traced informers. What their objects are, path and lists say. */
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
