import type { CausewayConfig, Listener, ServerTls } from '../causeway-config.ts'
import type { Findings } from '../findings.ts'
import { formatEndpoint } from '../schema/endpoint.ts'

interface Guarded extends Listener {
  tls?: ServerTls
  auth?: string
}

/** Warns of listeners that others can reach and that ask nobody who they are, and of secrets that go in plain text. */
export function warnOfExposure(config: CausewayConfig, findings: Findings): void {
  for (const { id, grpc, http } of config.receivers) {
    const path = `receivers::${id}::protocols`
    if (grpc !== undefined) warnOfListener(`${path}::grpc`, grpc, 'takes spans and mergelogs from', findings)
    if (http !== undefined) warnOfListener(`${path}::http`, http, 'takes spans and mergelogs from', findings)
  }
  if (config.query !== undefined)
    warnOfListener('extensions::cpid_query', config.query, 'shows all that is kept to', findings)
  for (const exporter of config.exporters) {
    if (exporter.kind === 'debug' || exporter.auth === undefined) continue
    const host =
      exporter.kind === 'otlp_grpc' ? exporter.host : (URL.parse(exporter.tracesUrl ?? '')?.hostname ?? '')
    const isPlain =
      exporter.kind === 'otlp_grpc' ? exporter.tls.insecure : !/^https:/i.test(exporter.tracesUrl ?? '')
    if (isPlain && !isLocal(host))
      findings.warn(`exporters::${exporter.id}::auth`, 'the credential is sent in plain text; turn tls on')
  }
}

function warnOfListener(path: string, listener: Guarded, does: string, findings: Findings): void {
  if (isLocal(listener.host)) return
  const { tls, auth } = listener
  const where = formatEndpoint(listener)
  if (auth === undefined && tls?.clientCaFile === undefined) {
    findings.warn(
      `${path}::endpoint`,
      `${where} can be reached from other machines and ${does} ANYBODY; write auth: { authenticator: … } or ` +
        `tls: { client_ca_file: … } beside it, or listen on localhost:${listener.port}`,
    )
  } else if (auth !== undefined && tls === undefined) {
    findings.warn(
      `${path}::auth`,
      `credentials come to ${where} in plain text, so whoever listens in has them; write tls: { cert_file, key_file } too`,
    )
  }
}

/** Whether nobody but this machine gets there. */
function isLocal(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
