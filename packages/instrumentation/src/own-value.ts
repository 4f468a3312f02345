/** The own property of this name, which comes from outside; undefined for inherited ones such as "constructor". */
export function ownValue<T>(of: Readonly<Record<string, T>>, name: string): T | undefined {
  // eslint-disable-next-line causeway/no-lookup-by-name -- this is what asks first
  return Object.hasOwn(of, name) ? of[name] : undefined
}
