import { tmpdir } from 'node:os'
import { OWN_CAUSEWAY, startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { HelperProcess } from '../../bench/load/helper-process.ts'
import type { FromSink, ToSink } from '../../bench/load/messages.ts'
import { usageOf, watchCpu } from '../../bench/measure/process-usage.ts'

export interface Bridge extends AsyncDisposable {
  /** Where it takes OTLP over gRPC. */
  endpoint: string
  /** Begins to watch its CPU; the function it gives tells the seconds used since. NaN where there is no /proc. */
  watchCpu: () => () => number
  /** Its resident memory now, in MiB. */
  memoryMib: () => number
}

/** A real Causeway in a process of its own, with a backend to send linked traces to. */
export async function startBridge(): Promise<Bridge> {
  await using open = new AsyncDisposableStack()
  const directory = open.use(freshDirectory(tmpdir()))
  const sink = open.use(new HelperProcess<ToSink, FromSink>('sink.ts'))
  const { port } = await sink.hear('ready')
  const causeway = await startMeasuredCauseway(OWN_CAUSEWAY, directory.path, port)
  open.defer(() => causeway.stop())
  const owned = open.move()
  return {
    endpoint: causeway.endpoint,
    watchCpu: () => {
      const used = watchCpu(causeway.pid)
      return () => used().seconds
    },
    memoryMib: () => usageOf(causeway.pid)?.rssMib ?? Number.NaN,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
