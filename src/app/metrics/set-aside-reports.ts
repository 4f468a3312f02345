import type { SetAside, SetAsideStage } from '../../model/set-aside.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

const TOLD_AGAIN_MS = 60_000
const PART = 'set aside'

export interface SetAsideSinks {
  metrics: Metrics
  log: Logger
  onWarning: ((part: string, warning: string | undefined) => void) | undefined
  /** A clock that never leaps. */
  nowMs: () => number
}

interface Untold {
  items: number
  last: SetAside
}

/** Counts what was set aside, and tells of it: one line a minute for each stage, with how many there were. */
export class SetAsideReports {
  readonly #sinks: SetAsideSinks
  readonly #untold = new Map<SetAsideStage, Untold>()
  readonly #toldMs = new Map<SetAsideStage, number>()

  constructor(sinks: SetAsideSinks) {
    this.#sinks = sinks
  }

  add(items: readonly SetAside[]): void {
    for (const item of items) {
      this.#sinks.metrics.add('cpid_set_aside', 1, { stage: item.stage })
      this.#untold.set(item.stage, { items: (this.#untold.get(item.stage)?.items ?? 0) + 1, last: item })
    }
    this.#tell()
  }

  /** How many rows remember what was set aside, now and before the last start. */
  remembered(rows: number): void {
    this.#sinks.metrics.set('cpid_set_aside_items', rows)
    const warning =
      `items that could not be linked, settled, sent or pruned were set aside (${rows} within a week): ` +
      'SELECT * FROM audit_set_aside says why'
    this.#sinks.onWarning?.(PART, rows === 0 ? undefined : warning)
    this.#tell()
  }

  #tell(): void {
    const nowMs = this.#sinks.nowMs()
    for (const [stage, { items, last }] of this.#untold) {
      if (nowMs - (this.#toldMs.get(stage) ?? -Infinity) < TOLD_AGAIN_MS) continue
      this.#toldMs.set(stage, nowMs)
      this.#untold.delete(stage)
      const { kind, item, cpid, exporter, reason } = last
      this.#sinks.log.error('Something was set aside, so that everything else goes on.', {
        stage,
        items,
        reason,
        last: `${kind} ${item}`,
        ...(cpid !== undefined && { cpid }),
        ...(exporter !== undefined && { exporter }),
      })
    }
  }
}
