import { openOnce, urlFor } from '../../app/sending/open-transport.ts'
import type {
  AuthenticatorConfig,
  CausewayConfig,
  DebugExporterConfig,
  ExporterConfig,
} from '../../config/causeway-config.ts'
import type { SentSignal } from '../../model/ingest.ts'
import type { SendOutcome } from '../../model/send-outcome.ts'
import { messageOf } from '../cli-error.ts'
import { readVersion } from '../version.ts'
import { plain } from '../text/show.ts'
import { fail, ok, warn, type Finding } from './finding.ts'
import { connectionError } from './probe.ts'

type OtlpExporter = Exclude<ExporterConfig, DebugExporterConfig>

const CHECK = 'backends'
const LONGEST_MS = 5_000
const EMPTY_REQUEST = Buffer.alloc(0)

/** Whether every backend takes the OTLP signals that pipelines send it: it is sent a request without content. */
export async function* checkBackends(config: CausewayConfig): AsyncGenerator<Finding> {
  const { outTraces, outLogs, outMetrics } = config.pipelines
  if (outTraces.length === 0) {
    yield warn(
      CHECK,
      'no pipeline sends traces on: Causeway only stores and answers',
      'add an exporter to a traces pipeline that receives from cpid, if a Jaeger or Tempo is to show them',
    )
  }
  for (const [signal, ids] of [
    ['traces', outTraces],
    ['logs', outLogs],
    ['metrics', outMetrics],
  ] as const) {
    for (const exporter of config.exporters)
      if (ids.includes(exporter.id)) yield await checkBackend(exporter, signal, config.authenticators)
  }
}

async function checkBackend(
  exporter: ExporterConfig,
  signal: SentSignal,
  authenticators: readonly AuthenticatorConfig[],
): Promise<Finding> {
  const { id } = exporter
  if (exporter.kind === 'debug') return ok(CHECK, `${id} prints to the log`)
  const { host, port, where, how } = addressOf(exporter, signal)
  const advice = `start it, or correct exporters::${id}::endpoint; what is not sent waits in the database`
  const error = await connectionError(host, port)
  if (error !== undefined) {
    const why = error === 'ECONNREFUSED' ? 'nothing listens there' : error
    return fail(CHECK, `${id} cannot be reached at ${where}: ${why}`, advice)
  }
  const outcome = await ask(exporter, signal, authenticators)
  if (outcome.kind === 'delivered') return ok(CHECK, `${id} answers ${how} at ${where}`)
  return fail(
    CHECK,
    `${id} at ${where} does not take ${how}: ${plain(outcome.reason)}`,
    `check that ${how} is what it speaks there, and endpoint, tls, auth and headers of exporters::${id}`,
  )
}

function addressOf(
  exporter: OtlpExporter,
  signal: SentSignal,
): { host: string; port: number; where: string; how: string } {
  const what = signal === 'traces' ? '' : ` ${signal}`
  if (exporter.kind === 'otlp_grpc') {
    const { host, port } = exporter
    return { host, port, where: `${host}:${port}`, how: `OTLP/gRPC${what}` }
  }
  const url = new URL(urlFor(exporter, signal))
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  return {
    host: url.hostname.replaceAll(/[[\]]/g, ''),
    port,
    where: url.origin + url.pathname,
    how: `OTLP/HTTP${what}`,
  }
}

async function ask(
  exporter: OtlpExporter,
  signal: SentSignal,
  authenticators: readonly AuthenticatorConfig[],
): Promise<SendOutcome> {
  try {
    await using transport = openOnce({ ...exporter, timeoutMs: LONGEST_MS }, signal, {
      userAgent: `Causeway/${readVersion()}`,
      authenticators,
      onTrouble: () => undefined,
    })
    return await transport.send(EMPTY_REQUEST, AbortSignal.timeout(LONGEST_MS))
  } catch (error) {
    return { kind: 'refused', splittable: false, reason: messageOf(error) }
  }
}
