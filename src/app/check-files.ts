import type { CausewayConfig, ServerTls } from '../config/causeway-config.ts'
import { openClientTls } from '../trust/client-tls.ts'
import { openServerTls } from '../trust/server-tls.ts'
import { openAuthenticator, openCredentials } from './authenticators.ts'

/** Reads every file with certificates, tokens and passwords that the configuration names. Throws what is wrong with one. */
export function checkFiles({ receivers, query, exporters, authenticators }: CausewayConfig): void {
  const told = (): void => undefined
  using opened = new DisposableStack()
  const checkTls = (owner: string, tls: ServerTls | undefined): void => {
    if (tls !== undefined) opened.use(openServerTls(owner, tls))
  }
  for (const { id, grpc, http } of receivers) {
    checkTls(`receiver ${id}`, grpc?.tls)
    checkTls(`receiver ${id}`, http?.tls)
  }
  checkTls('extension cpid_query', query?.tls)
  for (const exporter of exporters) {
    if (exporter.kind !== 'debug' && !exporter.tls.insecure) opened.use(openClientTls(exporter.tls))
  }
  for (const config of authenticators) {
    const logsIn = config.kind === 'basicauth' && config.clientAuth !== undefined
    opened.use(logsIn ? openCredentials(config, told) : openAuthenticator(config, told))
  }
}
