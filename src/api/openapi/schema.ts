/** A JSON Schema (2020-12) as OpenAPI 3.1 takes it. */
export type Schema = Readonly<Record<string, unknown>>

export const text = (description?: string): Schema => ({
  type: 'string',
  ...(description && { description }),
})
export const flag = (description?: string): Schema => ({
  type: 'boolean',
  ...(description && { description }),
})
export const number = (description?: string): Schema => ({
  type: 'number',
  ...(description && { description }),
})
export const integer = (description?: string): Schema => ({
  type: 'integer',
  ...(description && { description }),
})
export const oneOf = (...values: readonly string[]): Schema => ({ type: 'string', enum: values })
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
export const list = (items: Schema, description?: string): Schema => ({
  type: 'array',
  items,
  ...(description && { description }),
})
export const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] })

/** An object with these members and no others; those named in `optional` may be left out. */
export const object = (
  members: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema => ({
  type: 'object',
  properties: members,
  required: Object.keys(members).filter((name) => !optional.includes(name)),
  additionalProperties: false,
})
