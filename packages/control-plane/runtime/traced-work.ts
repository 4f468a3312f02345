import {
  SeverityNumber,
  SpanKind,
  SpanStatusCode,
  type Logger,
  type Span,
  type Tracer,
} from '@opentelemetry/api'
import {
  changeAttributes,
  withTraceContext,
  type Instrumentation,
  type KubernetesObject,
  type TraceContext,
} from 'causeway-instrumentation'
import type { ApiClient } from '../api/api-client.ts'
import { isRefusal } from '../api/api-error.ts'
import type { Draft, KubeObject, Resource, Resources } from '../api/kube-objects.ts'
import { deleteOptions, type DoWork, type Work } from './work.ts'

/** What a controller wrote, and the change that it wrote for. */
export interface Written {
  did: 'created' | 'updated' | 'updated the status of' | 'deleted'
  /** An object reference without uid and version. */
  object: string
  /** The version that the write gave it; of one that is deleted, the last that anybody was told. */
  resourceVersion: string | undefined
  cpid: string
  origin: 'begins' | 'merges' | 'inherits'
}

export interface Tracing {
  instrumentation: Instrumentation
  tracer: Tracer
  logger: Logger
  /**
   * Whether an object that is to be deleted is first made to carry the change that deletes it, with one more write, so
   * that those who see it go know why.
   */
  marksDeletions: boolean
  onWritten?: (written: Written) => void
}

type Deed = Written['did']

/**
 * The work of an instrumented controller. A span tells what it read and wrote; the first write merges the trace contexts
 * of all that was observed. A reconcile that found nothing to do leaves no span: it is begun but never ended.
 */
export function tracedWork(client: ApiClient, tracing: Tracing): DoWork {
  return (name, play) =>
    tracing.tracer.startActiveSpan(name, async (span) => {
      const work = new TracedWork(client, tracing, name)
      try {
        const outcome = await play(work)
        if (work.hasWritten) end(span, work)
        return outcome
      } catch (error) {
        span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) })
        end(span, work)
        throw error
      }
    })
}

function end(span: Span, work: TracedWork): void {
  span.setAttributes(changeAttributes(work.change))
  span.end()
}

class TracedWork implements Work {
  hasWritten = false
  readonly #client: ApiClient
  readonly #tracing: Tracing
  readonly #name: string
  readonly #observed: TraceContext[] = []
  #begun: string | undefined
  #merged: TraceContext | undefined
  #mergedOf = 0

  constructor(client: ApiClient, tracing: Tracing, name: string) {
    this.#client = client
    this.#tracing = tracing
    this.#name = name
  }

  /** What the work is done for: work that wrote nothing is of what it read first. */
  get change(): TraceContext | undefined {
    return this.#merged ?? this.#observed[0]
  }

  begin(reason: string, object: KubernetesObject): void {
    const root = this.#tracing.instrumentation.newRoot({ object, reason })
    this.#begun = root.cpid
    this.#observed.push(root)
  }

  observe(...objects: readonly (KubeObject | undefined)[]): void {
    const { observed, extractFromObject } = this.#tracing.instrumentation
    observed(objects)
    for (const object of objects) {
      const context = extractFromObject(object)
      if (context !== undefined) this.#observed.push(context)
    }
  }

  create<R extends Resource>(resource: R, draft: Draft<Resources[R]>): Promise<Resources[R]> {
    return this.#write('created', resource, draft, (marked) => this.#client.create(resource, marked))
  }

  update<R extends Resource>(resource: R, object: Resources[R]): Promise<Resources[R]> {
    return this.#write('updated', resource, object, (marked) => this.#client.update(resource, marked))
  }

  updateStatus<R extends Resource>(resource: R, object: Resources[R]): Promise<Resources[R]> {
    const write = (marked: Resources[R]) => this.#client.updateStatus(resource, marked)
    return this.#write('updated the status of', resource, object, write)
  }

  async delete<R extends Resource>(
    resource: R,
    object: Resources[R],
    gracePeriodSeconds?: number,
  ): Promise<void> {
    const { marksDeletions } = this.#tracing
    const options = deleteOptions(object, gracePeriodSeconds)
    await this.#write('deleted', resource, object, async (marked) => {
      const last = marksDeletions && marked !== object ? await this.#client.update(resource, marked) : object
      await this.#client.delete(resource, object.metadata, options)
      return marksDeletions ? last : withoutVersion(object)
    })
  }

  step(name: string, play: () => Promise<void>): Promise<void> {
    const { tracer } = this.#tracing
    return withTraceContext(this.change, () =>
      tracer.startActiveSpan(name, async (span) => {
        await play()
        span.end()
      }),
    )
  }

  async #write<D extends KubernetesObject, T extends KubeObject>(
    did: Deed,
    resource: Resource,
    object: D,
    write: (marked: D) => Promise<T>,
  ): Promise<T> {
    const { instrumentation, tracer, logger } = this.#tracing
    const change = this.#mergeFor(object)
    const call = CALLS[did](resource)
    const written = await withTraceContext(change, () =>
      tracer.startActiveSpan(call, { kind: SpanKind.CLIENT }, async (span) => {
        try {
          const written = await write(instrumentation.injectIntoObject(change, object))
          // On the span of this write alone: the work goes on, and ends after what the write causes.
          instrumentation.wrote(written)
          return written
        } catch (error) {
          span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) })
          if (isRefusal(error, 'Conflict')) span.setAttribute('error.type', 'Conflict')
          throw error
        } finally {
          span.end()
        }
      }),
    )
    this.hasWritten = true
    const { namespace, name, resourceVersion } = written.metadata
    const reference = `${resource}/${namespace}/${name}`
    withTraceContext(change, () =>
      logger.emit({ severityNumber: SeverityNumber.INFO, severityText: 'INFO', body: `${did} ${reference}` }),
    )
    this.#tell({ did, object: reference, resourceVersion, cpid: change.cpid })
    return written
  }

  /** Nothing merges before there is something to write. What follows from nothing known begins a change. */
  #mergeFor(object: KubernetesObject): TraceContext {
    const fresh = this.#observed.slice(this.#mergedOf)
    if (this.#merged === undefined || fresh.length > 0) {
      const detail = { object, reason: this.#name }
      this.#merged = this.#tracing.instrumentation.merge([this.#merged, ...fresh], detail)
      this.#mergedOf = this.#observed.length
    }
    return this.#merged
  }

  #tell(written: Omit<Written, 'origin'>): void {
    const isKnown = this.#observed.some(({ cpid }) => cpid === written.cpid)
    const isNew = written.cpid === this.#begun || this.#observed.length === 0
    const origin = isNew ? 'begins' : isKnown ? 'inherits' : 'merges'
    this.#tracing.onWritten?.({ ...written, origin })
  }
}

const CALLS: Readonly<Record<Deed, (resource: Resource) => string>> = {
  created: (resource) => `create ${resource}`,
  updated: (resource) => `update ${resource}`,
  'updated the status of': (resource) => `update ${resource}/status`,
  deleted: (resource) => `delete ${resource}`,
}

/** Deleting gives an object a last version that nobody is told. */
function withoutVersion<T extends KubernetesObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, resourceVersion: undefined } }
}
