import { setTimeout as sleep } from 'node:timers/promises'
import { SeverityNumber, SpanStatusCode, type Span } from '@opentelemetry/api'
import { CPID_OBSERVED, CPID_WROTE } from '../../src/model/attributes.ts'
import {
  annotationsWith,
  attributesOf,
  beginChange,
  contextOf,
  isNew,
  mergeContexts,
  referenceTo,
  sendMergelog,
  type Annotated,
  type CpidContext,
} from './cpid-context.ts'
import type { Draft, Resource, Resources } from './kube-objects.ts'
import type { Stage } from './stage.ts'

const SHORTEST_THOUGHT_MS = 10
const LONGEST_THOUGHT_MS = 60

/** One piece of work, such as a reconcile, as a span that says which change caused it and what it read and wrote. */
export async function doWork(stage: Stage, name: string, play: (work: Work) => Promise<void>): Promise<void> {
  await stage.tracer.startActiveSpan(name, async (span) => {
    const work = new Work(stage, span, name)
    try {
      await play(work)
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: String(error) })
      throw error
    } finally {
      work.describe()
      span.end()
    }
  })
}

/** Takes as long as a controller may take to make up its mind. */
export async function think(): Promise<void> {
  await sleep(SHORTEST_THOUGHT_MS + Math.random() * (LONGEST_THOUGHT_MS - SHORTEST_THOUGHT_MS))
}

export class Work {
  readonly #stage: Stage
  readonly #span: Span
  readonly #name: string
  readonly #seen: CpidContext[] = []
  readonly #observed: string[] = []
  readonly #wrote: string[] = []
  #context: CpidContext | undefined
  #isTold = false

  constructor(stage: Stage, span: Span, name: string) {
    this.#stage = stage
    this.#span = span
    this.#name = name
  }

  /** The work follows from what these objects say. */
  observe<R extends Resource>(resource: R, ...objects: Resources[R][]): void {
    for (const object of objects) {
      this.#observed.push(referenceTo(resource, object))
      const context = contextOf(object)
      if (context !== undefined) this.#seen.push(context)
    }
  }

  /** The work is an operator's and follows from nothing. */
  beginChange(): void {
    this.#context = beginChange()
  }

  async create<R extends Resource>(resource: R, draft: Draft<Resources[R]>): Promise<Resources[R]> {
    const written = await this.#stage.client.create(resource, this.#annotated(draft))
    this.#note(resource, written, 'created')
    return written
  }

  async update<R extends Resource>(resource: R, object: Resources[R]): Promise<Resources[R]> {
    const written = await this.#stage.client.update(resource, this.#annotated(object))
    this.#note(resource, written, 'updated')
    return written
  }

  /** Says in the span what there is to say, once the work is done. Work that wrote nothing is of what it read first. */
  describe(): void {
    this.#span.setAttributes(attributesOf(this.#context ?? this.#seen[0]))
    if (this.#observed.length > 0) this.#span.setAttribute(CPID_OBSERVED, this.#observed)
    if (this.#wrote.length > 0) this.#span.setAttribute(CPID_WROTE, this.#wrote)
  }

  #annotated<T extends Annotated>(object: T): T {
    this.#context ??= mergeContexts(this.#seen)
    if (this.#context === undefined) return object
    const annotations = annotationsWith(this.#context, object.metadata.annotations)
    return { ...object, metadata: { ...object.metadata, annotations } }
  }

  #note<R extends Resource>(resource: R, written: Resources[R], did: string): void {
    const reference = referenceTo(resource, written)
    const path = `${resource}/${written.metadata.namespace}/${written.metadata.name}`
    this.#wrote.push(reference)
    const { logger, report } = this.#stage
    const context = this.#context
    if (context === undefined) return
    if (isNew(context) && !this.#isTold) {
      this.#isTold = true
      sendMergelog(logger, context, reference, this.#name)
    }
    logger.emit({
      severityNumber: SeverityNumber.INFO,
      severityText: 'INFO',
      body: `${did} ${path}`,
      attributes: attributesOf(context),
    })
    const origin = !isNew(context) ? 'inherits' : context.sources.length === 0 ? 'begins' : 'merges'
    report({ kind: 'wrote', did, object: path, cpid: context.cpid, origin })
  }
}
