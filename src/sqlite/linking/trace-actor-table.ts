import type { Statement } from 'better-sqlite3'
import type { TraceActors } from '../../model/ports/linking/actors.ts'
import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import type { Trace } from '../../model/ports/linking/traces.ts'
import type { Sqlite } from '../open-database.ts'

interface Added {
  trace: number
  span: number
  service: string
  /** 1 where the span is of the change that the cascade begins with. */
  ofRoot: number
}

/** Who wrote how often in which trace: one row for each, so that cascades are found by their actors. */
export class TraceActorTable implements TraceActors {
  readonly #add: Statement<[Added]>

  constructor(db: Sqlite) {
    this.#add = db.prepare<[Added]>(
      `INSERT INTO trace_actors (trace, actor, writes, gaps, began)
       SELECT @trace, coalesce(user_name, @service), 1, gap, cause = 'operator' AND @ofRoot = 1
       FROM seen_writes WHERE span = @span
       ON CONFLICT (trace, actor) DO UPDATE SET writes = writes + 1, gaps = gaps + excluded.gaps,
         began = max(began, excluded.began)`,
    )
  }

  add(trace: Trace, { row, service, cpid }: ArrivedSpan): void {
    this.#add.run({ trace: trace.id, span: row, service, ofRoot: cpid === trace.root ? 1 : 0 })
  }
}
