import { errorText } from '../../model/error-text.ts'
import { ownValue } from '../../model/own-value.ts'
/** What the configuration may look at outside itself. */
export interface ConfigEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The text of a file; throws when it cannot be read. */
  readonly readFile: (path: string) => string
}

export type FetchedText =
  { kind: 'text'; text: string } | { kind: 'unset'; name: string } | { kind: 'fault'; message: string }

const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]+):(.*)$/s
const ENV_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/
const DEFAULT_MARK = ':-'

/** The scheme and the rest of a URI; a single letter before the colon is a drive, not a scheme. */
export function splitUri(uri: string, defaultScheme: string): { scheme: string; rest: string } {
  const [, scheme, rest] = SCHEME.exec(uri) ?? []
  return scheme === undefined || rest === undefined ? { scheme: defaultScheme, rest: uri } : { scheme, rest }
}

/** Follows one reference; never throws. */
export function fetchText(scheme: string, rest: string, around: ConfigEnvironment): FetchedText {
  switch (scheme) {
    case 'env':
      return fetchVariable(rest, around.env)
    case 'file':
      return fetchFile(rest, around.readFile)
    case 'yaml':
      return { kind: 'text', text: rest }
    case 'http':
    case 'https':
      return fault(`Causeway fetches no configuration over ${scheme}; save ${scheme}:${rest} as a file first`)
    default:
      return fault(
        `scheme "${scheme}" is not supported for uri "${scheme}:${rest}"; write file:, env: or yaml:`,
      )
  }
}

function fetchVariable(reference: string, env: ConfigEnvironment['env']): FetchedText {
  const mark = reference.indexOf(DEFAULT_MARK)
  const name = mark < 0 ? reference : reference.slice(0, mark)
  if (!ENV_NAME.test(name)) {
    return fault(`environment variable "${name}" has invalid name: must match regex ${ENV_NAME.source}`)
  }
  const text = ownValue(env, name) ?? (mark < 0 ? undefined : reference.slice(mark + DEFAULT_MARK.length))
  return text === undefined ? { kind: 'unset', name } : { kind: 'text', text }
}

function fetchFile(path: string, readFile: ConfigEnvironment['readFile']): FetchedText {
  try {
    return { kind: 'text', text: readFile(path) }
  } catch (error) {
    return fault(`cannot read the file ${path}: ${describeReadError(error)}`)
  }
}

function describeReadError(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (code === 'ENOENT') return 'there is no such file; paths are relative to the working directory'
  if (code === 'EACCES') return 'no permission to read it'
  return code === 'EISDIR' ? 'it is a directory; name a file in it' : errorText(error)
}

const fault = (message: string): FetchedText => ({ kind: 'fault', message })
