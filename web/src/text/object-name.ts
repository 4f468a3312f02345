/** The parts of an object reference, for display. */
interface ObjectName {
  /** Without uid and resourceVersion. */
  reference: string
  /** `apps/v1/deployments`; empty if the text is not a reference. */
  kind: string
  resource: string
  namespace: string | undefined
  name: string
  version: string | undefined
}

const CORE = /^v\d+(?:(?:alpha|beta)\d+)?$/

/** Accepts any text: a text that is not an object reference becomes the name. */
export function objectName(text: string): ObjectName {
  const mark = text.indexOf('?')
  const reference = mark === -1 ? text : text.slice(0, mark)
  const version = mark === -1 ? undefined : (new URLSearchParams(text.slice(mark)).get('rv') ?? undefined)
  const parts = reference.split('/')
  const kindLength = CORE.test(parts[0] ?? '') ? 2 : 3
  const rest = parts.slice(kindLength)
  const [first = '', second] = rest
  if (rest.length < 1 || rest.length > 2 || first === '') {
    return { reference, kind: '', resource: '', namespace: undefined, name: reference, version }
  }
  return {
    reference,
    kind: parts.slice(0, kindLength).join('/'),
    resource: parts[kindLength - 1] ?? '',
    namespace: second === undefined ? undefined : first,
    name: second ?? first,
    version,
  }
}
