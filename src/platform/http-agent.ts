import http from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import { errorText } from '../model/faults.ts'
import { type ClientTlsSettings, openClientTls } from './tls.ts'

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

/** Ends the connection of an answer with more bytes than this, headers included: what reads it may keep it whole. */
export function limitAnswers(agent: http.Agent, maxBytes: number): void {
  const taken = new WeakMap<Duplex, number>()
  const connect = agent.createConnection.bind(agent)
  // Its type says that it returns nothing. Node closes a connection for which it does not return true.
  const rest = agent.keepSocketAlive.bind(agent) as (connection: Duplex) => boolean
  agent.createConnection = (options, callback) => {
    const connection = connect(options, callback)
    connection?.on('data', (chunk: Buffer) => {
      const bytes = (taken.get(connection) ?? 0) + chunk.length
      taken.set(connection, bytes)
      if (bytes > maxBytes) connection.destroy(new Error(`its answer has more than ${maxBytes} bytes`))
    })
    return connection
  }
  agent.keepSocketAlive = (connection) => {
    taken.delete(connection)
    return rest(connection)
  }
}

/** Why an agent whose answers are limited got none. */
export function failureText(error: unknown, maxBytes: number): string {
  const text = errorText(error)
  return text === 'aborted' ? `its answer broke off, or has more than ${maxBytes} bytes` : text
}
