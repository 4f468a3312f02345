import { isIPv6 } from 'node:net'
import { describeNode, textOf } from '../tree/raw-node.ts'
import { refuse, InvalidValue, type ValueKind } from './field.ts'

export interface Endpoint {
  /** A name or an address; IPv6 without brackets. */
  host: string
  port: number
}

const HOST_PORT = /^(?:\[(?<bracketed>[^[\]]*)\]|(?<plain>[^:[\]]*)):(?<port>[^:]*)$/
const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i
const ALL_ADDRESSES = '0.0.0.0'
const MAX_PORT = 65535

/** Reads `host:port`; an empty host stays empty. */
export function parseEndpoint(text: string): Endpoint | InvalidValue {
  const wanted = `must be host:port such as localhost:4317, got ${describeNode(text)}`
  const scheme = SCHEME.exec(text)
  if (scheme) return refuse(`${wanted}; write it without ${scheme[0]}`)
  const { bracketed, plain, port } = HOST_PORT.exec(text)?.groups ?? {}
  if (port === undefined) {
    if (isIPv6(text)) return refuse(`${wanted}; write an IPv6 address in brackets, such as [::1]:4317`)
    return refuse(text.includes(':') ? wanted : `${wanted}; the port is missing`)
  }
  if (!/^\d{1,5}$/.test(port) || Number(port) > MAX_PORT) {
    return refuse(`invalid port "${port}"; write a number from 0 to ${MAX_PORT}`)
  }
  const host = bracketed ?? plain ?? ''
  if (bracketed === undefined ? /[\s/?#@]/.test(host) : !isIPv6(bracketed)) return refuse(wanted)
  return { host, port: Number(port) }
}

/** The `host:port` text of an endpoint. */
export function formatEndpoint({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Where to listen. An empty host means all addresses and port 0 any free port, as in the Collector. */
export const LISTEN_ENDPOINT: ValueKind<Endpoint> = {
  type: 'host:port',
  textual: true,
  read: (node) => {
    const text = textOf(node)
    if (text === undefined)
      return refuse(`must be host:port such as localhost:4317, got ${describeNode(node)}`)
    const endpoint = parseEndpoint(text)
    if (endpoint instanceof InvalidValue) return endpoint
    return endpoint.host === '' ? { host: ALL_ADDRESSES, port: endpoint.port } : endpoint
  },
}
