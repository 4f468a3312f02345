import { describeNode, textOf, valueOf } from '../tree/raw-node.ts'
import { parseEndpoint, type Endpoint } from '../schema/endpoint.ts'
import { refuse, InvalidValue, type ValueKind } from '../schema/field.ts'

const PATH = /^[/\w.~!$&'()*+,;=:@%-]+$/

/** The path part of a URL; a leading slash may be left out. */
export const URL_PATH: ValueKind<string> = {
  type: 'URL path',
  textual: true,
  read: (node) => {
    const text = textOf(node)
    return text !== undefined && PATH.test(text)
      ? `/${text.replace(/^\//, '')}`
      : refuse(`must be a URL path such as /v1/traces, got ${describeNode(node)}`)
  },
}

/** An http:// or https:// URL. */
export const HTTP_URL: ValueKind<string> = {
  type: 'URL',
  textual: true,
  read: (node) => {
    const wanted = 'must be a URL such as http://localhost:4318'
    const text = textOf(node)
    if (text === undefined) return refuse(`${wanted}, got ${describeNode(node)}`)
    if (!/^https?:\/\//i.test(text))
      return refuse(`${wanted}, got ${describeNode(text)}; begin it with http:// or https://`)
    const url = URL.parse(text)
    if (url === null) return refuse(`${wanted}, got ${describeNode(text)}`)
    if (url.username !== '' || url.password !== '') {
      return refuse(
        'must hold no user or password; write headers: { authorization: "Basic ${env:LOGIN}" } instead',
      )
    }
    return text
  },
}

const PLACEHOLDER = /\{[^{}]*\}?/g
const PLACEHOLDERS = ['{trace_id}', '{span_id}']

/** An http:// or https:// URL with `{trace_id}` in it, and `{span_id}` where it may be. */
export const TRACE_URL: ValueKind<string> = {
  type: 'URL with {trace_id}',
  textual: true,
  read: (node) => {
    const url = HTTP_URL.read(node)
    if (url instanceof InvalidValue) return url
    const unknown = url.match(PLACEHOLDER)?.find((placeholder) => !PLACEHOLDERS.includes(placeholder))
    if (unknown !== undefined) {
      return refuse(`may hold {trace_id} and {span_id}, got ${unknown}`)
    }
    return url.includes('{trace_id}')
      ? url
      : refuse(`must say where the trace id goes, such as http://localhost:16686/trace/{trace_id}`)
  },
}

export interface GrpcTarget extends Endpoint {
  scheme: 'http' | 'https' | undefined
}

const TARGET = /^(?:(?<scheme>https?):\/\/|dns:\/\/\/)?(?<rest>.*)$/s

/** Where a gRPC server is; a scheme says whether it speaks TLS. */
export const GRPC_TARGET: ValueKind<GrpcTarget> = {
  type: 'host:port',
  textual: true,
  read: (node) => {
    const text = textOf(node)
    if (text === undefined)
      return refuse(`must be host:port such as localhost:4317, got ${describeNode(valueOf(node))}`)
    const { scheme, rest = '' } = TARGET.exec(text)?.groups ?? {}
    const endpoint = parseEndpoint(rest.replace(/\/$/, ''))
    if (endpoint instanceof InvalidValue) return endpoint
    if (endpoint.host === '' || endpoint.port === 0) {
      return refuse(
        `must name a host and a port to send to, such as localhost:4317, got ${describeNode(text)}`,
      )
    }
    return { ...endpoint, scheme: scheme === 'http' || scheme === 'https' ? scheme : undefined }
  },
}
