import { refuse, type InvalidValue } from '../schema/field.ts'

const TYPE = /^[a-zA-Z][0-9a-zA-Z_]{0,62}$/
const NAME = /^[^\p{Z}\p{C}\p{S}]{1,1024}$/u

/** The type in an id such as `otlp_grpc/jaeger`. */
export function parseComponentId(id: string): { type: string } | InvalidValue {
  const slash = id.indexOf('/')
  const type = slash < 0 ? id : id.slice(0, slash)
  const name = slash < 0 ? undefined : id.slice(slash + 1)
  const wanted = 'write type or type/name, such as otlp_grpc/jaeger'
  if (!TYPE.test(type)) {
    return refuse(`"${id}" is not an id: a type is a letter, then letters, digits and _; ${wanted}`)
  }
  if (name === '') return refuse(`"${id}" is not an id: the part after / must not be empty; ${wanted}`)
  if (name !== undefined && !NAME.test(name)) {
    return refuse(
      `"${id}" is not an id: a name has no spaces or symbols and at most 1024 characters; ${wanted}`,
    )
  }
  return { type }
}
