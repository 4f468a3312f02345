import type { TestWriter } from '../../support/test-writer.ts'

/** The CPIDs that are not pruned, by the numbers that tests give them. */
export function liveCpids({ db }: TestWriter): number[] {
  const cpids = db.prepare<[], string>("SELECT cpid FROM audit_cpids WHERE state = 'live'").pluck().all()
  return cpids.map((id) => Number.parseInt(id.slice(-12), 16)).sort((a, b) => a - b)
}

/** Has an exporter that has sent everything up to now, or up to a decision. */
export function exporterAt(writer: TestWriter, position?: number): void {
  writer.keepExporters('traces', ['otlp_grpc/backend'])
  writer.exporterMoved('traces', 'otlp_grpc/backend', position)
}

/** Prunes turn by turn until nothing is left to do; returns how many CPIDs went. */
export function pruneAll(writer: TestWriter, budget = 1_000): number {
  let cpids = 0
  for (;;) {
    const result = writer.writer.prune(budget)
    cpids += result.cpids
    if (!result.more) return cpids
  }
}
