import type { CausewayConfig, ConfiguredListener, Destination } from '../causeway-config.ts'
import type { Findings } from '../findings.ts'
import { formatEndpoint } from '../schema/endpoint.ts'
import { isLoopback } from '../../model/host-names.ts'

/** Warns of listeners that others can reach and that ask nobody who they are, and of secrets that go in plain text. */
export function warnOfExposure(
  { receivers, extensions, exporters }: CausewayConfig,
  findings: Findings,
): void {
  for (const { listeners } of [...receivers, ...extensions])
    for (const listener of listeners) warnOfListener(listener, findings)
  for (const { id, auth, destinations } of exporters)
    if (auth !== undefined && Object.values(destinations).some(isPlainAndFar))
      findings.warn(`exporters::${id}::auth`, 'the credential is sent in plain text; turn tls on')
}

function isPlainAndFar(destination: Destination): boolean {
  return destination.kind === 'backend' && destination.isPlain && !isLoopback(destination.host)
}

function warnOfListener(listener: ConfiguredListener, findings: Findings): void {
  const { path, exposes, tls, auth } = listener
  if (exposes === undefined || isLoopback(listener.host)) return
  const where = formatEndpoint(listener)
  if (auth === undefined && tls?.clientCaFile === undefined) {
    findings.warn(
      `${path}::endpoint`,
      `${where} can be reached from other machines and ${exposes} ANYBODY; write auth: { authenticator: … } or ` +
        `tls: { client_ca_file: … } beside it, or listen on localhost:${listener.port}`,
    )
  } else if (auth !== undefined && tls === undefined) {
    findings.warn(
      `${path}::auth`,
      `credentials come to ${where} in plain text, so whoever listens in has them; write tls: { cert_file, key_file } too`,
    )
  }
}
