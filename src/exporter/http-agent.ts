import http from 'node:http'
import https from 'node:https'
import { type ClientTlsSettings, openClientTls } from '../platform/tls.ts'

/** Connections made after a change of the certificate files use the new ones; resting ones are closed. */
export function agentFor(
  url: URL,
  tls: ClientTlsSettings,
  onTrouble?: (reason: string) => void,
): { agent: http.Agent; secured?: Disposable } {
  if (url.protocol === 'http:') return { agent: new http.Agent({ keepAlive: true }) }
  if (url.protocol !== 'https:')
    throw new Error(`${url.protocol}// cannot be exported to; write http:// or https://`)
  const secured = openClientTls(tls, onTrouble)
  const agent = new https.Agent({
    keepAlive: true,
    ...secured.current,
    rejectUnauthorized: !tls.insecureSkipVerify,
    ...(tls.serverNameOverride !== undefined && { servername: tls.serverNameOverride }),
  })
  secured.onChange((changed) => {
    Object.assign(agent.options, changed)
    for (const resting of Object.values(agent.freeSockets))
      for (const socket of resting ?? []) socket.destroy()
  })
  return { agent, secured }
}
