import type { Components } from '../../app/components.ts'
import { openOnce } from '../../app/sending/open-transport.ts'
import { authenticatorsOf } from '../../app/sending/start-sending.ts'
import type { CausewayConfig, ExporterConfig } from '../../config/causeway-config.ts'
import type { SentSignal } from '../../model/ingest.ts'
import type { SendOutcome } from '../../model/send-outcome.ts'
import { messageOf } from '../cli-error.ts'
import { readVersion } from '../version.ts'
import { plain } from '../text/show.ts'
import { fail, ok, warn, type Finding } from './finding.ts'
import { connectionError } from './probe.ts'

const CHECK = 'backends'
const LONGEST_MS = 5_000
const EMPTY_REQUEST = Buffer.alloc(0)

type Ask = (exporter: ExporterConfig, signal: SentSignal) => Promise<SendOutcome>

/** Whether every backend takes the OTLP signals that pipelines send it: it is sent a request without content. */
export async function* checkBackends(
  config: CausewayConfig,
  components: Components,
): AsyncGenerator<Finding> {
  const { outTraces, outLogs, outMetrics } = config.pipelines
  if (outTraces.length === 0) {
    yield warn(
      CHECK,
      'no pipeline sends traces on: Causeway only stores and answers',
      'add an exporter to a traces pipeline that receives from cpid, if a Jaeger or Tempo is to show them',
    )
  }
  const ask = asking(config, components)
  for (const [signal, ids] of [
    ['traces', outTraces],
    ['logs', outLogs],
    ['metrics', outMetrics],
  ] as const) {
    for (const exporter of config.exporters)
      if (ids.includes(exporter.id)) yield await checkBackend(exporter, signal, ask)
  }
}

async function checkBackend(exporter: ExporterConfig, signal: SentSignal, ask: Ask): Promise<Finding> {
  const { id, destinations } = exporter
  const destination = destinations[signal]
  if (destination?.kind !== 'backend') return ok(CHECK, `${id} ${destination?.does ?? 'is sent nothing'}`)
  const { host, port, where } = destination
  const how = `${destination.speaks}${signal === 'traces' ? '' : ` ${signal}`}`
  const advice = `start it, or correct exporters::${id}::endpoint; what is not sent waits in the database`
  const error = await connectionError(host, port)
  if (error !== undefined) {
    const why = error === 'ECONNREFUSED' ? 'nothing listens there' : error
    return fail(CHECK, `${id} cannot be reached at ${where}: ${why}`, advice)
  }
  const outcome = await ask(exporter, signal)
  if (outcome.kind === 'delivered') return ok(CHECK, `${id} answers ${how} at ${where}`)
  return fail(
    CHECK,
    `${id} at ${where} does not take ${how}: ${plain(outcome.reason)}`,
    `check that ${how} is what it speaks there, and endpoint, tls, auth and headers of exporters::${id}`,
  )
}

function asking(config: CausewayConfig, components: Components): Ask {
  const hooks = {
    components,
    userAgent: `Causeway/${readVersion()}`,
    authenticators: authenticatorsOf(config, components),
    longestMs: LONGEST_MS,
    show: () => undefined,
    onTrouble: () => undefined,
  }
  return async (exporter, signal) => {
    try {
      await using transport = await openOnce(exporter, signal, hooks)
      return await transport.send(EMPTY_REQUEST, AbortSignal.timeout(LONGEST_MS))
    } catch (error) {
      return { kind: 'refused', splittable: false, reason: messageOf(error) }
    }
  }
}
