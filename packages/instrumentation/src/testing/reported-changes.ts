import {
  CPID_ID,
  CPID_NEW,
  CPID_OBJECT,
  CPID_OBSERVED,
  CPID_REASON,
  CPID_SOURCES,
  CPID_WROTE,
  MERGELOG_EVENT,
} from '../attributes.ts'

/** The used members of an ended span of any SDK. */
export interface EndedSpan {
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status?: { readonly code: number; readonly message?: string }
  readonly events?: readonly {
    readonly name: string
    readonly attributes?: Readonly<Record<string, unknown>>
  }[]
}

/** The used members of an emitted log record. */
export interface EmittedRecord {
  readonly eventName?: string | undefined
  readonly attributes?: Readonly<Record<string, unknown>>
}

export interface ReportedMergelog {
  readonly cpid: string
  /** Empty for a root change. */
  readonly sources: readonly string[]
  readonly object: string | undefined
  readonly reason: string | undefined
}

export interface ToldSpan {
  readonly name: string
  readonly cpid: string | undefined
  readonly observed: readonly string[]
  readonly wrote: readonly string[]
  /** Whether it ended in an error. */
  readonly isFailed: boolean
}

const ERROR = 2
const NOTHING_TO_END = {
  forceFlush: (): Promise<void> => Promise.resolve(),
  shutdown: (): Promise<void> => Promise.resolve(),
}

/**
 * Collects the spans and mergelogs of a controller in memory, for tests. Register `spanProcessor` and `logRecordProcessor` with the SDK,
 * after `CpidSpanProcessor` and `CpidLogRecordProcessor`.
 */
export class ReportedChanges {
  readonly mergelogs: ReportedMergelog[] = []
  readonly spans: ToldSpan[] = []

  readonly spanProcessor = {
    onStart: (): void => undefined,
    onEnd: (span: EndedSpan): void => this.#keepSpan(span),
    ...NOTHING_TO_END,
  }
  readonly logRecordProcessor = {
    onEmit: (record: EmittedRecord): void => {
      if (record.eventName === MERGELOG_EVENT) this.#keepMergelog(record.attributes ?? {})
    },
    enabled: (): boolean => true,
    ...NOTHING_TO_END,
  }

  /** The reported mergelog of a CPID, if any. */
  mergelogOf(cpid: string | undefined): ReportedMergelog | undefined {
    return this.mergelogs.find((mergelog) => mergelog.cpid === cpid)
  }

  /** The root changes from which a CPID descends, by the reported mergelogs. */
  rootsOf(cpid: string): string[] {
    const passed = new Set([cpid])
    for (const one of passed) for (const source of this.mergelogOf(one)?.sources ?? []) passed.add(source)
    return [...passed].filter((one) => (this.mergelogOf(one)?.sources ?? []).length === 0)
  }

  /** Forgets everything collected. */
  clear(): void {
    this.mergelogs.length = 0
    this.spans.length = 0
  }

  #keepSpan({ name, attributes, status, events }: EndedSpan): void {
    const told = new Map(Object.entries(attributes))
    const cpid = told.get(CPID_ID)
    this.spans.push({
      name,
      cpid: typeof cpid === 'string' ? cpid : undefined,
      observed: textsIn(told.get(CPID_OBSERVED)),
      wrote: textsIn(told.get(CPID_WROTE)),
      isFailed: status?.code === ERROR,
    })
    for (const event of events ?? []) {
      if (event.name === MERGELOG_EVENT) this.#keepMergelog(event.attributes ?? {})
    }
  }

  #keepMergelog(attributes: Readonly<Record<string, unknown>>): void {
    const told = new Map(Object.entries(attributes))
    this.mergelogs.push({
      cpid: String(told.get(CPID_NEW)),
      sources: textsIn(told.get(CPID_SOURCES)),
      object: textIn(told.get(CPID_OBJECT)),
      reason: textIn(told.get(CPID_REASON)),
    })
  }
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
