import type { Cached, Transactor } from '../../../src/model/store-ports.ts'
import { TestClock } from '../../support/test-clock.ts'
import type { Inside, Opened } from '../opened.ts'
import { MemoryArrivals } from './memory-arrivals.ts'
import { MemoryGraph } from './memory-graph.ts'
import {
  MemoryChanges,
  MemoryMergelogs,
  MemoryPositions,
  MemoryUnfinished,
  MemoryWaiting,
} from './memory-linking.ts'
import { MemoryPruning } from './memory-pruning.ts'
import { MemoryTables } from './memory-tables.ts'
import { MemoryTraces } from './memory-traces.ts'

/** The transactions of a model: what is stored is copied first, and put back when the work throws. */
class MemoryTransactor<Given> implements Transactor<Given> {
  readonly #tables: MemoryTables
  readonly #caches: Cached[]
  readonly #inside: Given

  constructor(tables: MemoryTables, caches: Cached[], inside: Given) {
    this.#tables = tables
    this.#caches = caches
    this.#inside = inside
  }

  run<T>(work: (inside: Given) => T): T {
    if (this.#tables.isBusy) throw new Error('a transaction is running already')
    this.#tables.turn()
    return undoing(this.#tables, this.#caches, () => {
      this.#tables.isBusy = true
      const done = work(this.#inside)
      this.#tables.isBusy = false
      this.#tables.committedActiveMs = this.#tables.activeMs
      return done
    })
  }

  with<More, Outside>(
    make: (inside: Given) => { inside: More; outside: Outside },
  ): { transactor: Transactor<More>; outside: Outside } {
    const { inside, outside } = make(this.#inside)
    return { transactor: new MemoryTransactor(this.#tables, this.#caches, inside), outside }
  }

  alsoForget(cached: Cached): void {
    this.#caches.push(cached)
  }
}

function undoing<T>(tables: MemoryTables, caches: readonly Cached[], work: () => T): T {
  const undo = tables.snapshot()
  try {
    return work()
  } catch (error) {
    undo()
    for (const cache of caches) cache.forget()
    throw error
  }
}

/** The ports in maps, as simple as they can be: what the real ones are compared with. */
export function openInMemory(tables = new MemoryTables(new TestClock())): Opened {
  const graph = new MemoryGraph(tables)
  const traces = new MemoryTraces(tables)
  const positions = {
    traces: new MemoryPositions(tables, 'traces'),
    logs: new MemoryPositions(tables, 'logs'),
    metrics: new MemoryPositions(tables, 'metrics'),
  }
  const caches = [graph, traces]
  const inside: Inside = {
    arrivals: new MemoryArrivals(tables),
    graph,
    pruning: new MemoryPruning(tables, graph),
    positions,
    mergelogs: new MemoryMergelogs(tables),
    waiting: new MemoryWaiting(tables),
    unfinished: new MemoryUnfinished(tables),
    changes: new MemoryChanges(tables),
    traces,
    linkRound: (work) => {
      const done = work()
      traces.flush()
      return done
    },
    attempt: (part) => undoing(tables, caches, part),
  }
  return {
    clock: tables.clock,
    transactor: new MemoryTransactor(tables, caches, inside),
    reader: {
      progress: tables,
      get hasPostponedExplanation() {
        return tables.explainLater.size > 0
      },
      positions: (signal) => positions[signal].all(),
    },
    reopened: () => {
      tables.restart()
      return openInMemory(tables)
    },
    [Symbol.dispose]: () => undefined,
  }
}
