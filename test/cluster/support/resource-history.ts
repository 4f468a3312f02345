export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly resourceVersion: string
    readonly creationTimestamp?: string
  }
  readonly spec: object
}

export interface HistoryEvent {
  readonly version: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly resource: string
  readonly object: KubeObject
}

interface Written {
  readonly name: string
  readonly namespace?: string
  readonly resource?: string
  readonly apiVersion?: string
  readonly kind?: string
  readonly created?: string
  readonly spec?: object
}

/** Every version of every object that there ever was, and up to which they are no longer served. */
export class ResourceHistory {
  version = 100
  /** Watches from before it are answered 410. */
  compacted = 0
  onEvent: (event: HistoryEvent) => void = () => undefined
  readonly events: HistoryEvent[] = []
  #made = 0

  /** Makes the object, or changes the one of that name. */
  put(written: Written): KubeObject {
    const { name, namespace = 'default', resource = 'widgets', spec = {} } = written
    const { apiVersion = 'example.com/v1', kind = 'Widget', created } = written
    const before = this.#named(resource, namespace, name)
    const uid = before?.metadata.uid ?? `uid-${String(++this.#made).padStart(6, '0')}`
    return this.#record(before === undefined ? 'ADDED' : 'MODIFIED', resource, {
      apiVersion,
      kind,
      metadata: {
        ...{ name, namespace, uid, resourceVersion: String(this.version + 1) },
        ...(created !== undefined && { creationTimestamp: created }),
      },
      spec: { ...spec, number: this.version + 1 },
    })
  }

  /** Deletes it if it is there. */
  remove({ name, namespace = 'default', resource = 'widgets' }: Written): void {
    const before = this.#named(resource, namespace, name)
    if (before === undefined) return
    const metadata = { ...before.metadata, resourceVersion: String(this.version + 1) }
    this.#record('DELETED', resource, { ...before, metadata })
  }

  compact(): void {
    this.compacted = this.version
  }

  /** What there was as of a version, by uid. */
  objects(resource = 'widgets', asOf = this.version): KubeObject[] {
    const there = new Map<string, KubeObject>()
    for (const event of this.events)
      if (event.resource === resource && event.version <= asOf)
        if (event.type === 'DELETED') there.delete(event.object.metadata.uid)
        else there.set(event.object.metadata.uid, event.object)
    return [...there.values()]
  }

  eventsAfter(version: number, resource = 'widgets'): HistoryEvent[] {
    return this.events.filter((event) => event.version > version && event.resource === resource)
  }

  #named(resource: string, namespace: string, name: string): KubeObject | undefined {
    return this.objects(resource).find(
      ({ metadata }) => metadata.namespace === namespace && metadata.name === name,
    )
  }

  #record(type: HistoryEvent['type'], resource: string, object: KubeObject): KubeObject {
    const event = { version: ++this.version, type, resource, object }
    this.events.push(event)
    this.onEvent(event)
    return object
  }
}
