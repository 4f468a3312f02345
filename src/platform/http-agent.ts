import http from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import type { ClientTlsSettings } from '../model/connection-settings.ts'
import { errorText } from '../model/faults.ts'
import { openClientTls } from './tls.ts'

/** An agent for this URL. After a change of the certificate files, new connections use the new ones, and idle ones are closed. */
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

/** Limits of a response: its bytes with its head, and the milliseconds from when its request gets a connection. */
export interface AnswerLimits {
  readonly maxBytes: number
  readonly maxMs: number
}

interface Answering {
  bytes: number
  late: NodeJS.Timeout
}

/** Closes the connection of a response beyond the limits. Clients that buffer a whole response need this. */
export function limitAnswers(agent: http.Agent, { maxBytes, maxMs }: AnswerLimits): void {
  const answering = new WeakMap<Duplex, Answering>()
  const connect = agent.createConnection.bind(agent)
  const reuse = agent.reuseSocket.bind(agent)
  // Its declared type returns nothing, but Node closes the connection unless it returns true.
  const rest = agent.keepSocketAlive.bind(agent) as (connection: Duplex) => boolean
  const begin = (connection: Duplex): void => {
    const end = (): unknown => connection.destroy(new Error(`it took longer than ${maxMs / 1_000} s`))
    answering.set(connection, { bytes: 0, late: setTimeout(end, maxMs) })
  }
  const over = (connection: Duplex): void => {
    clearTimeout(answering.get(connection)?.late)
    answering.delete(connection)
  }
  agent.createConnection = (options, callback) => {
    const connection = connect(options, callback)
    if (connection === undefined || connection === null) return connection
    begin(connection)
    connection
      .on('close', () => over(connection))
      .on('data', (chunk: Buffer) => {
        const answer = answering.get(connection)
        if (answer === undefined) return
        answer.bytes += chunk.length
        if (answer.bytes > maxBytes)
          connection.destroy(new Error(`its answer has more than ${maxBytes} bytes`))
      })
    return connection
  }
  agent.reuseSocket = (connection, request) => {
    begin(connection)
    reuse(connection, request)
  }
  agent.keepSocketAlive = (connection) => {
    over(connection)
    return rest(connection)
  }
}

/** The error of a request on an agent with limits. */
export function failureText(error: unknown, { maxBytes, maxMs }: AnswerLimits): string {
  const text = errorText(error)
  return text === 'aborted'
    ? `its answer broke off, took longer than ${maxMs / 1_000} s, or has more than ${maxBytes} bytes`
    : text
}
